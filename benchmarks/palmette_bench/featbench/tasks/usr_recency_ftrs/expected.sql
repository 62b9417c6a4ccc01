-- Every user; days since are 24 hours long, but for those since the first redemption, which are of the calendar.
WITH met AS (
    SELECT
        user_id,
        epoch_us($as_of) - epoch_us(max(occurred_at) FILTER (kind = 'view')) AS since_view,
        epoch_us($as_of) - epoch_us(max(occurred_at) FILTER (kind = 'click')) AS since_click
    FROM offer_interactions
    WHERE occurred_at < $as_of AND occurred_at >= $as_of - INTERVAL 60 DAY AND loaded_at < $as_of
    GROUP BY user_id
),
visited AS (
    SELECT user_id, epoch_us($as_of) - max(at_ms) * 1000 AS since_visit
    FROM category_interactions
    WHERE at_ms < epoch_ms($as_of) AND at_ms >= epoch_ms($as_of - INTERVAL 60 DAY) AND loaded_at < $as_of
    GROUP BY user_id
),
redeemed AS (
    SELECT
        user_id,
        min(redeemed_at) AS first_at,
        CAST(epoch_us($as_of) - epoch_us(max(redeemed_at)) AS DOUBLE) / 86400e6 AS days
    FROM redemptions
    WHERE redeemed_at < $as_of AND loaded_at < $as_of AND channel = 'app'
    GROUP BY user_id
)
SELECT
    users.user_id,
    $as_of AS as_of,
    CAST(met.since_view // 86400000000 AS INTEGER) AS days_since_view_60d,
    CAST(met.since_click AS DOUBLE) / 86400e6 AS days_since_click_60d,
    CAST(visited.since_visit // 86400000000 AS INTEGER) AS days_since_visit_60d,
    redeemed.days AS days_since_redemption,
    CAST(CAST($as_of AS DATE) - CAST(redeemed.first_at AS DATE) AS INTEGER) AS days_since_first_redemption,
    redeemed.user_id IS NOT NULL AS has_redeemed,
    CASE WHEN redeemed.days < 90 THEN CAST(floor(redeemed.days) AS INTEGER) ELSE 90 END AS redemption_recency,
    CASE
        WHEN redeemed.user_id IS NULL THEN 'never'
        WHEN redeemed.days >= 90 THEN 'lapsed'
        WHEN redeemed.days >= 30 THEN 'lapsing'
        ELSE 'active'
    END AS activity
FROM users
LEFT JOIN met USING (user_id)
LEFT JOIN visited USING (user_id)
LEFT JOIN redeemed USING (user_id)
