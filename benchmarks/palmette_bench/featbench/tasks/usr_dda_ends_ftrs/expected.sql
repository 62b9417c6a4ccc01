-- Bookings other than fees, numbered from the newest; among those of a day, the highest number is the newest.
WITH bookings AS (
    SELECT
        user_id, booking_id, booked_on, kind,
        TRY_CAST(amount AS DECIMAL(12, 2)) AS euros,
        split_part(counterparty, '*', 1) AS payee
    FROM account_transactions
    WHERE kind <> 'fee' AND booked_on < CAST($as_of AS DATE)
),
numbered AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY user_id ORDER BY booked_on DESC, booking_id DESC) AS place,
        lead(euros) OVER (PARTITION BY user_id ORDER BY booked_on DESC, booking_id DESC) AS euros_before
    FROM bookings
),
known AS (
    SELECT * FROM numbered WHERE booked_on >= CAST($as_of AS DATE) - 90
),
payees AS (
    SELECT user_id, list(payee ORDER BY newest)[:2] AS names
    FROM (SELECT user_id, payee, min(place) AS newest FROM known WHERE payee IS NOT NULL GROUP BY user_id, payee)
    GROUP BY user_id
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS bookings_90d,
    CAST(arg_max(euros, place) FILTER (euros IS NOT NULL) AS DECIMAL(12, 2)) AS first_amount_90d,
    CAST(arg_min(euros, place) FILTER (euros IS NOT NULL) AS DECIMAL(12, 2)) AS last_amount_90d,
    arg_min(payee, place) FILTER (payee IS NOT NULL) AS last_payee_90d,
    arg_min(kind, place) FILTER (booked_on >= CAST($as_of AS DATE) - 7) AS last_kind_7d,
    list(kind ORDER BY place) [:3] AS last_3_kinds_90d,
    any_value(payees.names) AS last_2_payees_90d,
    count(*) FILTER (euros > euros_before) AS steps_up_90d,
    CAST(last_amount_90d - first_amount_90d AS DECIMAL(13, 2)) AS amount_change_90d,
    CAST(steps_up_90d AS DOUBLE) / bookings_90d AS up_share_90d
FROM known
LEFT JOIN payees USING (user_id)
GROUP BY user_id
