-- What logged-in users did in the 30 days before the cut-off, as far as it was known, dismissals left out.
WITH known AS (
    SELECT
        user_id, offer_id, interaction_id, kind,
        split_part(placement, '/', 1) AS surface,
        TRY_CAST(dwell_ms AS INTEGER) AS dwell
    FROM offer_interactions
    WHERE occurred_at < $as_of AND occurred_at >= $as_of - INTERVAL 30 DAY AND loaded_at < $as_of
        AND user_id IS NOT NULL AND kind <> 'dismiss'
),
users AS (
    SELECT user_id, count(DISTINCT interaction_id) FILTER (kind = 'click') AS clicks FROM known GROUP BY user_id
),
pairs AS (
    SELECT
        user_id, offer_id,
        count(DISTINCT interaction_id) FILTER (kind = 'view') AS views,
        count(DISTINCT interaction_id) FILTER (kind = 'click') AS clicks,
        count(DISTINCT interaction_id) FILTER (surface = 'home') AS home,
        count(DISTINCT interaction_id) FILTER (dwell >= 10000) AS long,
        max(dwell) AS longest
    FROM known
    GROUP BY user_id, offer_id
)
SELECT
    pairs.user_id,
    pairs.offer_id,
    $as_of AS as_of,
    pairs.views AS views_30d,
    pairs.clicks AS clicks_30d,
    pairs.home AS home_interactions_30d,
    pairs.long AS long_interactions_30d,
    pairs.longest AS longest_dwell_30d,
    users.clicks AS user_clicks_30d,
    CAST(pairs.clicks AS DOUBLE) / nullif(pairs.views, 0) AS click_rate_30d,
    CAST(pairs.clicks AS DOUBLE) / nullif(users.clicks, 0) AS click_share_30d
FROM pairs
JOIN users USING (user_id)
