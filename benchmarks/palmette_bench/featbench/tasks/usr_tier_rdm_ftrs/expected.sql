-- Every user; a tier that begins exactly at the cut-off is not known yet.
WITH redeemed AS (
    SELECT user_id, count(*) AS times, sum(TRY_CAST(amount AS DECIMAL(12, 2))) AS euros
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 90 DAY AND loaded_at < $as_of
    GROUP BY user_id
)
SELECT
    users.user_id,
    $as_of AS as_of,
    users.region,
    (
        SELECT any_value(state.tier) FROM user_tiers AS state
        WHERE state.user_id = users.user_id AND state.valid_from < $as_of
            AND (state.valid_to IS NULL OR state.valid_to >= $as_of)
    ) AS tier,
    CAST(date_diff('day', users.joined_on, CAST($as_of AS DATE)) AS INTEGER) AS membership_days,
    coalesce(redeemed.times, 0) AS redemptions_90d,
    CAST(redeemed.euros AS DECIMAL(18, 2)) AS amount_90d
FROM users
LEFT JOIN redeemed USING (user_id)
