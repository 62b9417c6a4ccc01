-- The redemptions that were known: happened in the 90 days before the cut-off, loaded before it.
WITH known AS (
    SELECT user_id, offer_id, TRY_CAST(amount AS DECIMAL(12, 2)) AS euros, redeemed_at
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 90 DAY AND loaded_at < $as_of
)
SELECT
    user_id,
    offer_id,
    $as_of AS as_of,
    count(*) AS redemptions_90d,
    CAST(sum(euros) AS DECIMAL(18, 2)) AS redeemed_amount_90d,
    avg(CAST(euros AS DOUBLE)) AS average_amount_90d,
    count(DISTINCT CAST(redeemed_at AS DATE)) AS redemption_days_90d,
    CAST(floor((epoch_us($as_of) - epoch_us(max(redeemed_at))) / 86400e6) AS INTEGER) AS days_since_redemption_90d
FROM known
GROUP BY user_id, offer_id
