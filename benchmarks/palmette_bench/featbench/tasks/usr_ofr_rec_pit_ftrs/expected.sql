-- Each recommendation asks for itself what there was before the instant at which it was shown.
WITH rows AS (
    SELECT
        shown.*,
        (
            SELECT any_value(state.tier) FROM user_tiers AS state
            WHERE state.user_id = shown.user_id AND state.valid_from < shown.shown_at
                AND (state.valid_to IS NULL OR state.valid_to >= shown.shown_at)
        ) AS tier,
        (
            SELECT arg_max(state.status, state.taken_at) FROM offer_states AS state
            WHERE state.offer_id = shown.offer_id AND state.taken_at < shown.shown_at
        ) AS status,
        (SELECT any_value(starts_on) FROM offers WHERE offers.offer_id = shown.offer_id) AS starts_on,
        (
            SELECT count(*) FROM redemptions AS event
            WHERE event.user_id = shown.user_id AND event.loaded_at < shown.shown_at
                AND event.redeemed_at < shown.shown_at AND event.redeemed_at >= shown.shown_at - INTERVAL 30 DAY
        ) AS of_user,
        (
            SELECT sum(TRY_CAST(event.amount AS DECIMAL(12, 2))) FROM redemptions AS event
            WHERE event.user_id = shown.user_id AND event.loaded_at < shown.shown_at
                AND event.redeemed_at < shown.shown_at AND event.redeemed_at >= shown.shown_at - INTERVAL 30 DAY
        ) AS euros,
        (
            SELECT count(*) FROM redemptions AS event
            WHERE event.offer_id = shown.offer_id AND event.loaded_at < shown.shown_at
                AND event.redeemed_at < shown.shown_at AND event.redeemed_at >= shown.shown_at - INTERVAL 30 DAY
        ) AS of_offer,
        (
            SELECT count(*) FROM redemptions AS event
            WHERE event.user_id = shown.user_id AND event.offer_id = shown.offer_id
                AND event.loaded_at < shown.shown_at AND event.redeemed_at < shown.shown_at
        ) AS of_pair,
        (
            SELECT max(event.redeemed_at) FROM redemptions AS event
            WHERE event.user_id = shown.user_id AND event.loaded_at < shown.shown_at
                AND event.redeemed_at < shown.shown_at
        ) AS last_at,
        (
            SELECT count(DISTINCT event.interaction_id) FROM offer_interactions AS event
            WHERE event.user_id = shown.user_id AND event.kind = 'click' AND event.loaded_at < shown.shown_at
                AND event.occurred_at < shown.shown_at AND event.occurred_at >= shown.shown_at - INTERVAL 7 DAY
        ) AS clicks,
        (
            SELECT count(DISTINCT event.interaction_id) FROM offer_interactions AS event
            WHERE event.user_id = shown.user_id AND event.offer_id = shown.offer_id AND event.kind = 'view'
                AND event.loaded_at < shown.shown_at AND event.occurred_at < shown.shown_at
                AND event.occurred_at >= shown.shown_at - INTERVAL 14 DAY
        ) AS views
    FROM recommendations AS shown
)
SELECT
    user_id,
    offer_id,
    recommendation_id,
    redeemed,
    shown_at AS as_of,
    tier,
    status AS offer_status,
    CAST(CAST(shown_at AS DATE) - starts_on AS INTEGER) AS offer_age_days,
    of_user AS user_redemptions_30d,
    CAST(euros AS DECIMAL(18, 2)) AS user_amount_30d,
    of_offer AS offer_redemptions_30d,
    of_pair > 0 AS has_redeemed_offer,
    CAST(epoch_us(shown_at) - epoch_us(last_at) AS DOUBLE) / 86400e6 AS days_since_redemption,
    clicks AS user_clicks_7d,
    views AS pair_views_14d,
    CAST(of_user AS DOUBLE) / nullif(of_offer, 0) AS demand_30d
FROM rows
