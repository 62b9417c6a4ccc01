-- The last week and the one before; a click that is delivered twice has one time, and counts once.
WITH clicks AS (
    SELECT DISTINCT offer_id, interaction_id, occurred_at
    FROM offer_interactions
    WHERE occurred_at < $as_of AND occurred_at >= $as_of - INTERVAL 28 DAY AND loaded_at < $as_of
        AND user_id IS NOT NULL AND kind = 'click'
),
purchases AS (
    SELECT
        offer_id,
        redeemed_at >= $as_of - INTERVAL 7 DAY AS recent,
        TRY_CAST(amount AS DECIMAL(12, 2)) AS euros
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 14 DAY AND loaded_at < $as_of
),
clicked AS (
    SELECT
        offer_id,
        count(*) FILTER (occurred_at >= $as_of - INTERVAL 7 DAY) AS now,
        count(*) FILTER (occurred_at < $as_of - INTERVAL 7 DAY AND occurred_at >= $as_of - INTERVAL 14 DAY) AS before,
        count(*) AS month
    FROM clicks
    GROUP BY offer_id
),
redeemed AS (
    SELECT
        offer_id,
        count(*) FILTER (recent) AS now,
        count(*) FILTER (NOT recent) AS before,
        CAST(sum(euros) FILTER (recent) AS DECIMAL(18, 2)) AS euros_now,
        CAST(sum(euros) FILTER (NOT recent) AS DECIMAL(18, 2)) AS euros_before
    FROM purchases
    GROUP BY offer_id
)
SELECT
    coalesce(clicked.offer_id, redeemed.offer_id) AS offer_id,
    $as_of AS as_of,
    coalesce(clicked.now, 0) AS clicks_7d,
    coalesce(clicked.month, 0) AS clicks_28d,
    coalesce(clicked.before, 0) AS clicks_prior_7d,
    CAST(clicked.now - clicked.before AS DOUBLE) / nullif(clicked.before, 0) AS click_change_7d,
    CAST(4 * clicked.now AS DOUBLE) / nullif(clicked.month, 0) AS click_trend_28d,
    coalesce(redeemed.now, 0) AS redemptions_7d,
    coalesce(redeemed.before, 0) AS redemptions_prior_7d,
    CAST(redeemed.now - redeemed.before AS DOUBLE) / nullif(redeemed.before, 0) AS redemption_change_7d,
    redeemed.euros_now AS amount_7d,
    redeemed.euros_before AS amount_prior_7d,
    CAST(redeemed.euros_now - redeemed.euros_before AS DOUBLE)
        / nullif(CAST(redeemed.euros_before AS DOUBLE), 0) AS amount_change_7d
FROM clicked
FULL JOIN redeemed ON redeemed.offer_id = clicked.offer_id
