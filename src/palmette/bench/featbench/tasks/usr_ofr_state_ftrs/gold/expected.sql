-- Interactions with the newest state taken before them, strictly: at midnight that is the one of the week before.
WITH known AS (
    SELECT * FROM offer_interactions
    WHERE occurred_at < $as_of AND occurred_at >= $as_of - INTERVAL 28 DAY AND loaded_at < $as_of
        AND user_id IS NOT NULL AND kind <> 'dismiss'
),
now AS (
    SELECT offer_id, arg_max(status, taken_at) AS status FROM offer_states WHERE taken_at < $as_of GROUP BY offer_id
),
stated AS (
    SELECT
        known.user_id, known.offer_id, known.interaction_id, known.occurred_at,
        known.kind = 'view' AS is_view,
        known.kind IN ('click', 'save') AS is_click,
        TRY_CAST(known.dwell_ms AS INTEGER) AS dwell,
        then_.status, then_.budget_left, then_.taken_at,
        now.status AS status_now
    FROM known
    ASOF LEFT JOIN offer_states AS then_
        ON then_.offer_id = known.offer_id AND known.occurred_at > then_.taken_at
    LEFT JOIN now ON now.offer_id = known.offer_id
)
SELECT
    user_id,
    $as_of AS as_of,
    count(DISTINCT interaction_id) FILTER (is_view) AS views_28d,
    count(DISTINCT interaction_id) FILTER (is_view AND status = 'live') AS live_views_28d,
    count(DISTINCT interaction_id) FILTER (is_click AND status = 'exhausted') AS vain_clicks_28d,
    count(DISTINCT offer_id) FILTER (status = 'live' AND budget_left >= 500) AS good_chances_28d,
    count(DISTINCT offer_id) FILTER (status = 'live' AND status_now <> 'live') AS lost_offers_28d,
    min(budget_left) FILTER (status = 'live') AS lowest_budget_28d,
    CAST(max(epoch_us(occurred_at) - epoch_us(taken_at)) AS DOUBLE) / 3600e6 AS oldest_state_hours_28d,
    max(dwell) FILTER (status = 'live') AS longest_dwell_live_28d,
    count(DISTINCT interaction_id)
        FILTER (is_view AND status = 'paused' AND occurred_at >= $as_of - INTERVAL 7 DAY) AS paused_views_7d,
    CAST(epoch_us($as_of) - epoch_us(max(occurred_at) FILTER (status = 'live')) AS DOUBLE) / 86400e6
        AS days_since_live_28d,
    CAST(count(DISTINCT interaction_id) FILTER (is_view AND status = 'live') AS DOUBLE)
        / nullif(count(DISTINCT interaction_id) FILTER (is_view), 0) AS live_share_28d
FROM stated
GROUP BY user_id
