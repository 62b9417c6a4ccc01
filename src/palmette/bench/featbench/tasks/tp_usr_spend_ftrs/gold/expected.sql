-- A day knows the purchases that were posted before its end, and all bookings up to it.
WITH bought AS (
    SELECT
        *, authorised_at >= $as_of - INTERVAL 7 DAY AS in_week,
        string_split(descriptor, '*')[3] AS merchant
    FROM card_transactions
    WHERE authorised_at < $as_of AND authorised_at >= $as_of - INTERVAL 28 DAY AND posted_at < $as_of
        AND status <> 'reversed' AND amount > 0
),
cards AS (
    SELECT
        user_id,
        count(*) FILTER (in_week) AS week_count,
        count(*) AS month_count,
        sum(amount) FILTER (in_week) AS week_sum,
        sum(amount) AS month_sum,
        count(*) FILTER (amount >= 100) AS large,
        count(*) FILTER (entry IN ('chip', 'tap')) AS in_store,
        count(DISTINCT merchant) AS merchants,
        count(DISTINCT CAST(authorised_at AS DATE)) AS days,
        max(CAST(posted_at AS DATE) - CAST(authorised_at AS DATE)) AS slowest
    FROM bought
    GROUP BY user_id
),
booked AS (
    SELECT user_id, booked_on, CASE WHEN left(amount, 1) = '-' THEN -TRY_CAST(amount AS DECIMAL(12, 2)) END AS gone
    FROM account_transactions
    WHERE booked_on < CAST($as_of AS DATE) AND booked_on >= CAST($as_of AS DATE) - 28 AND kind <> 'card'
),
accounts AS (
    SELECT user_id, sum(gone) FILTER (booked_on >= CAST($as_of AS DATE) - 7) AS week_out, sum(gone) AS month_out
    FROM booked
    GROUP BY user_id
),
amounts AS (
    SELECT
        coalesce(cards.user_id, accounts.user_id) AS user_id,
        coalesce(week_sum, 0) AS week_sum, coalesce(month_sum, 0) AS month_sum,
        coalesce(week_out, 0) AS week_out, coalesce(month_out, 0) AS month_out,
        week_count, month_count, large, in_store, merchants, days, slowest
    FROM cards
    FULL JOIN accounts ON accounts.user_id = cards.user_id
)
SELECT
    user_id,
    $as_of AS as_of,
    coalesce(week_count, 0) AS purchases_7d,
    coalesce(month_count, 0) AS purchases_28d,
    CAST(week_sum AS DECIMAL(18, 2)) AS spend_7d,
    CAST(month_sum AS DECIMAL(18, 2)) AS spend_28d,
    coalesce(large, 0) AS large_purchases_28d,
    coalesce(in_store, 0) AS in_store_purchases_28d,
    coalesce(merchants, 0) AS merchants_28d,
    coalesce(days, 0) AS shopping_days_28d,
    CAST(slowest AS INTEGER) AS slowest_post_days_28d,
    CAST(week_out AS DECIMAL(18, 2)) AS outflow_7d,
    CAST(month_out AS DECIMAL(18, 2)) AS outflow_28d,
    CAST(month_sum - week_sum AS DECIMAL(18, 2)) AS spend_before,
    CAST(month_out - week_out AS DECIMAL(18, 2)) AS outflow_before,
    3 * CAST(week_sum AS DOUBLE) / nullif(CAST(month_sum - week_sum AS DOUBLE), 0) AS spend_trend,
    3 * CAST(week_out AS DOUBLE) / nullif(CAST(month_out - week_out AS DOUBLE), 0) AS outflow_trend,
    CAST($as_of - INTERVAL 1 MICROSECOND AS DATE) AS feature_day
FROM amounts
