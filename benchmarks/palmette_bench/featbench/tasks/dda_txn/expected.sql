-- Bookings other than fees; a booking happens at the midnight of its day.
WITH amounts AS (
    SELECT user_id, booked_on, TRY_CAST(amount AS DECIMAL(12, 2)) AS euros
    FROM account_transactions
    WHERE kind <> 'fee' AND booked_on < CAST($as_of AS DATE) AND booked_on >= CAST($as_of AS DATE) - 90
),
known AS (
    SELECT
        *,
        CASE WHEN euros > 0 THEN euros ELSE 0 END AS inflow,
        CASE WHEN euros < 0 THEN -euros ELSE 0 END AS outflow,
        booked_on >= CAST($as_of AS DATE) - 30 AS in_month,
        booked_on >= CAST($as_of AS DATE) - 7 AS in_week
    FROM amounts
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS bookings_90d,
    count(*) FILTER (euros < 0) AS debits_90d,
    count(*) FILTER (abs(euros) >= 100) AS large_bookings_90d,
    CAST(sum(inflow) AS DECIMAL(18, 2)) AS inflow_90d,
    CAST(sum(outflow) AS DECIMAL(18, 2)) AS outflow_90d,
    CAST(CAST($as_of AS DATE) - max(booked_on) AS INTEGER) AS days_since_booking_90d,
    count(*) FILTER (in_month) AS bookings_30d,
    CAST(sum(outflow) FILTER (in_month) AS DECIMAL(18, 2)) AS outflow_30d,
    count(*) FILTER (in_week) AS bookings_7d,
    min(euros) FILTER (in_week) AS smallest_amount_7d,
    CAST(inflow_90d - outflow_90d AS DOUBLE) / nullif(CAST(inflow_90d AS DOUBLE), 0) AS saving_rate_90d,
    CAST(outflow_30d AS DOUBLE) / nullif(CAST(outflow_90d AS DOUBLE), 0) AS outflow_share_30d
FROM known
GROUP BY user_id
