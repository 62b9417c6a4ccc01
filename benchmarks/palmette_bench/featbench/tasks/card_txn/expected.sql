-- Settled purchases in euros that were known at the cut-off.
WITH known AS (
    SELECT
        user_id, mcc, amount, entry, authorised_at,
        authorised_at >= $as_of - INTERVAL 30 DAY AS in_month,
        authorised_at >= $as_of - INTERVAL 7 DAY AS in_week
    FROM card_transactions
    WHERE authorised_at < $as_of AND authorised_at >= $as_of - INTERVAL 90 DAY AND posted_at < $as_of
        AND status = 'settled' AND currency = 'EUR' AND amount > 0
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS purchases_90d,
    CAST(sum(amount) AS DECIMAL(18, 2)) AS spend_90d,
    avg(CAST(amount AS DOUBLE)) AS average_amount_90d,
    stddev_samp(CAST(amount AS DOUBLE)) AS deviation_90d,
    count(*) FILTER (mcc = 5411) AS groceries_90d,
    count(*) FILTER (mcc = 5812) AS dining_90d,
    count(*) FILTER (mcc = 4511) AS travel_90d,
    count(*) FILTER (amount >= 50) AS large_90d,
    count(*) FILTER (entry = 'online') AS online_90d,
    count(*) FILTER (in_month) AS purchases_30d,
    CAST(sum(amount) FILTER (in_month) AS DECIMAL(18, 2)) AS spend_30d,
    count(*) FILTER (in_week) AS purchases_7d,
    CAST(sum(amount) FILTER (in_week) AS DECIMAL(18, 2)) AS spend_7d,
    groceries_90d / CAST(purchases_90d AS DOUBLE) AS groceries_share_90d,
    dining_90d / CAST(purchases_90d AS DOUBLE) AS dining_share_90d,
    travel_90d / CAST(purchases_90d AS DOUBLE) AS travel_share_90d,
    large_90d / CAST(purchases_90d AS DOUBLE) AS large_share_90d,
    online_90d / CAST(purchases_90d AS DOUBLE) AS online_share_90d,
    CAST(spend_30d AS DOUBLE) / CAST(spend_90d AS DOUBLE) AS spend_share_30d,
    CAST(spend_7d AS DOUBLE) / CAST(spend_30d AS DOUBLE) AS spend_share_7d,
    CAST(floor((epoch_us($as_of) - epoch_us(max(authorised_at))) / 86400e6) AS INTEGER) AS days_since_purchase_90d
FROM known
GROUP BY user_id
