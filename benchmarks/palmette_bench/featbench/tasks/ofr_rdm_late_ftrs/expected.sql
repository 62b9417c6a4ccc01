-- Redemptions that had arrived by the end of the day; how late is the time from the purchase to the loading.
WITH known AS (
    SELECT
        offer_id, loaded_at,
        TRY_CAST(amount AS DECIMAL(12, 2)) AS euros,
        epoch(loaded_at - redeemed_at) / 3600 AS delay,
        redeemed_at >= $as_of - INTERVAL 28 DAY AS in_month,
        redeemed_at >= $as_of - INTERVAL 7 DAY AS in_week
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 730 DAY AND loaded_at < $as_of
)
SELECT
    offer_id,
    $as_of AS as_of,
    count(*) FILTER (in_week) AS redemptions_7d,
    count(*) FILTER (in_week AND delay < 1) AS prompt_redemptions_7d,
    count(*) FILTER (in_month AND delay >= 24) AS late_redemptions_28d,
    CAST(count(*) FILTER (in_month AND delay < 1) AS DOUBLE) / nullif(count(*) FILTER (in_month), 0) AS prompt_share_28d,
    quantile_cont(delay, 0.5) FILTER (in_month) AS median_delay_28d,
    max(delay) FILTER (in_month) AS longest_delay_28d,
    CAST(sum(euros) FILTER (in_month) AS DECIMAL(18, 2)) AS amount_28d,
    count(*) AS redemptions_730d,
    epoch($as_of - max(loaded_at)) / 3600 AS hours_since_load_730d,
    CAST(count(*) FILTER (in_week) AS DOUBLE) / count(*) AS week_share_730d,
    CAST($as_of - INTERVAL 1 MICROSECOND AS DATE) AS feature_day
FROM known
GROUP BY offer_id
