-- A booking happens at the midnight of its day: that of the cut-off's day has passed, that of the window's first day
-- came before the window.
WITH timed AS (
    SELECT
        user_id, booked_on,
        CAST(booked_on AS TIMESTAMPTZ) AS happened,
        isodow(booked_on) IN (6, 7) AS weekend,
        CASE WHEN TRY_CAST(amount AS DECIMAL(12, 2)) < 0 THEN -TRY_CAST(amount AS DECIMAL(12, 2)) ELSE 0 END AS spent
    FROM account_transactions
    WHERE kind IS NOT NULL
),
known AS (
    SELECT
        *,
        happened >= $as_of - INTERVAL 1 DAY AS in_day,
        happened >= $as_of - INTERVAL 7 DAY AS in_week,
        happened >= $as_of - INTERVAL 28 DAY AS in_month
    FROM timed
    WHERE happened < $as_of AND happened >= $as_of - INTERVAL 90 DAY
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) FILTER (in_day) AS bookings_1d,
    count(*) FILTER (in_week) AS bookings_7d,
    CAST(sum(spent) FILTER (in_week) AS DECIMAL(18, 2)) AS outflow_7d,
    count(DISTINCT booked_on) FILTER (in_month) AS booking_days_28d,
    count(*) FILTER (in_month AND weekend) AS weekend_bookings_28d,
    CAST(sum(spent) FILTER (in_month) AS DECIMAL(18, 2)) AS outflow_28d,
    CAST(sum(spent) FILTER (in_month AND weekend) AS DECIMAL(18, 2)) AS weekend_outflow_28d,
    count(*) FILTER (day(booked_on) IN (1, 2, 3)) AS first_days_bookings_90d,
    CAST(floor((epoch_us($as_of) - epoch_us(max(happened))) / 86400e6) AS INTEGER) AS days_since_booking_90d,
    CAST(outflow_7d AS DOUBLE) / nullif(CAST(outflow_28d AS DOUBLE), 0) AS week_share_28d,
    CAST(weekend_outflow_28d AS DOUBLE) / nullif(CAST(outflow_28d AS DOUBLE), 0) AS weekend_share_28d
FROM known
GROUP BY user_id
