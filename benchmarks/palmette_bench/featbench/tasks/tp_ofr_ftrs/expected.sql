-- Everything as it was known at the end of the day; offers that were either met or redeemed.
WITH met AS (
    SELECT
        offer_id,
        count(DISTINCT interaction_id) FILTER (kind = 'view') AS views,
        count(DISTINCT interaction_id) FILTER (kind IN ('click', 'save')) AS clicks,
        count(DISTINCT user_id) AS viewers,
        count(DISTINCT interaction_id) FILTER (device IN ('ios', 'android')) AS apps,
        count(DISTINCT interaction_id) FILTER (split_part(placement, '/', 1) = 'mail') AS mails,
        count(DISTINCT interaction_id)
            FILTER (kind = 'view' AND TRY_CAST(split_part(placement, '/', 3) AS INTEGER) <= 3) AS tops,
        count(DISTINCT interaction_id) FILTER (TRY_CAST(dwell_ms AS INTEGER) >= 10000) AS longs,
        min(TRY_CAST(split_part(placement, '/', 3) AS INTEGER)) AS best
    FROM offer_interactions
    WHERE occurred_at < $as_of AND occurred_at >= $as_of - INTERVAL 7 DAY AND loaded_at < $as_of
        AND user_id IS NOT NULL AND placement IS NOT NULL AND kind <> 'dismiss'
    GROUP BY offer_id
),
redeemed AS (
    SELECT offer_id, count(*) AS times, sum(TRY_CAST(amount AS DECIMAL(12, 2))) AS euros
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 30 DAY AND loaded_at < $as_of
        AND TRY_CAST(amount AS DECIMAL(12, 2)) > 0 AND channel IS NOT NULL
    GROUP BY offer_id
)
SELECT
    coalesce(met.offer_id, redeemed.offer_id) AS offer_id,
    $as_of AS as_of,
    coalesce(met.views, 0) AS views_7d,
    coalesce(met.clicks, 0) AS clicks_7d,
    coalesce(met.viewers, 0) AS viewers_7d,
    coalesce(met.apps, 0) AS app_interactions_7d,
    coalesce(met.mails, 0) AS mail_interactions_7d,
    coalesce(met.tops, 0) AS top_views_7d,
    coalesce(met.longs, 0) AS long_interactions_7d,
    met.best AS best_position_7d,
    coalesce(redeemed.times, 0) AS redemptions_30d,
    CAST(redeemed.euros AS DECIMAL(18, 2)) AS amount_30d,
    CAST(met.clicks AS DOUBLE) / nullif(met.views, 0) AS click_rate_7d,
    CAST(met.tops AS DOUBLE) / nullif(met.views, 0) AS top_share_7d,
    CAST(coalesce(redeemed.times, 0) AS DOUBLE) / nullif(met.viewers, 0) AS redemptions_per_viewer,
    CAST($as_of - INTERVAL 1 MICROSECOND AS DATE) AS feature_day
FROM met
FULL JOIN redeemed ON redeemed.offer_id = met.offer_id
