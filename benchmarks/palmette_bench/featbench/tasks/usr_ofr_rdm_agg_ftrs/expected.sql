-- Redemptions of a readable amount above 0, known at the cut-off.
WITH known AS (
    SELECT
        user_id, offer_id, redeemed_at,
        redeemed_at >= $as_of - INTERVAL 30 DAY AS recent,
        TRY_CAST(amount AS DECIMAL(12, 2)) AS euros,
        TRY_CAST(cashback AS DECIMAL(12, 2)) AS back,
        split_part(till, '/', 1) AS store
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 180 DAY AND loaded_at < $as_of
        AND TRY_CAST(amount AS DECIMAL(12, 2)) > 0
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS redemptions_180d,
    count(DISTINCT offer_id) AS offers_180d,
    count(DISTINCT store) AS stores_180d,
    count(DISTINCT CAST(redeemed_at AS DATE)) AS redemption_days_180d,
    CAST(sum(euros) AS DECIMAL(18, 2)) AS amount_180d,
    CAST(sum(back) AS DECIMAL(18, 2)) AS cashback_180d,
    CAST(floor((epoch_us($as_of) - epoch_us(max(redeemed_at))) / 86400e6) AS INTEGER) AS days_since_redemption_180d,
    count(*) FILTER (recent) AS redemptions_30d,
    CAST(sum(euros) FILTER (recent) AS DECIMAL(18, 2)) AS amount_30d,
    CAST(sum(euros) FILTER (recent) AS DOUBLE) / CAST(sum(euros) AS DOUBLE) AS recent_share,
    CAST(sum(back) AS DOUBLE) / CAST(sum(euros) AS DOUBLE) AS cashback_rate_180d
FROM known
GROUP BY user_id
