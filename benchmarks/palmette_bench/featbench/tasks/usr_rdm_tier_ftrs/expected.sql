-- Events with the tier of the instant before them; a tier holds after valid_from, up to valid_to.
WITH tiers AS (
    SELECT user_id, tier, valid_from, coalesce(valid_to, TIMESTAMPTZ '9999-01-01') AS valid_to FROM user_tiers
),
known AS (
    SELECT *, TRY_CAST(amount AS DECIMAL(12, 2)) AS euros
    FROM redemptions
    WHERE redeemed_at < $as_of AND redeemed_at >= $as_of - INTERVAL 120 DAY AND loaded_at < $as_of
        AND TRY_CAST(amount AS DECIMAL(12, 2)) > 0
),
tiered AS (
    SELECT
        known.*, past.tier AS past_tier, present.tier AS present_tier,
        date_diff('day', past.valid_from, known.redeemed_at) AS days
    FROM known
    LEFT JOIN tiers AS past
        ON past.user_id = known.user_id AND known.redeemed_at > past.valid_from
        AND known.redeemed_at <= past.valid_to
    LEFT JOIN tiers AS present
        ON present.user_id = known.user_id AND $as_of > present.valid_from AND $as_of <= present.valid_to
),
redeemed AS (
    SELECT
        user_id,
        count(*) AS times,
        count(*) FILTER (past_tier = 'gold') AS gold_times,
        sum(euros) FILTER (past_tier = 'gold') AS gold,
        sum(euros) FILTER (past_tier = 'silver') AS silver,
        sum(euros) FILTER (past_tier = 'basic') AS basic,
        count(DISTINCT past_tier) AS tiers,
        avg(CAST(past_tier = present_tier AS DOUBLE)) AS same,
        min(days) AS soonest,
        last(past_tier ORDER BY redeemed_at, redemption_id) FILTER (past_tier IS NOT NULL) AS latest
    FROM tiered
    GROUP BY user_id
),
booked AS (
    SELECT booking.user_id, count(DISTINCT booking_id) AS times, count(*) FILTER (tier = 'basic') AS basic_times
    FROM account_transactions AS booking
    LEFT JOIN tiers
        ON tiers.user_id = booking.user_id AND CAST(booking.booked_on AS TIMESTAMPTZ) > tiers.valid_from
        AND CAST(booking.booked_on AS TIMESTAMPTZ) <= tiers.valid_to
    WHERE booked_on < CAST($as_of AS DATE) AND booked_on >= CAST($as_of AS DATE) - 120
    GROUP BY booking.user_id
)
SELECT
    user_id,
    $as_of AS as_of,
    (
        SELECT any_value(tier) FROM tiers
        WHERE tiers.user_id = coalesce(redeemed.user_id, booked.user_id)
            AND $as_of > valid_from AND $as_of <= valid_to
    ) AS tier,
    coalesce(redeemed.times, 0) AS redemptions_120d,
    coalesce(redeemed.gold_times, 0) AS gold_redemptions_120d,
    CAST(redeemed.gold AS DECIMAL(18, 2)) AS gold_amount_120d,
    CAST(redeemed.silver AS DECIMAL(18, 2)) AS silver_amount_120d,
    CAST(redeemed.basic AS DECIMAL(18, 2)) AS basic_amount_120d,
    coalesce(redeemed.tiers, 0) AS tiers_120d,
    redeemed.same AS same_tier_share_120d,
    CAST(redeemed.soonest AS INTEGER) AS soonest_days_120d,
    redeemed.latest AS last_tier_120d,
    coalesce(booked.times, 0) AS bookings_120d,
    coalesce(booked.basic_times, 0) AS basic_bookings_120d,
    CAST(redeemed.gold_times AS DOUBLE) / redeemed.times AS gold_share_120d
FROM redeemed
FULL JOIN booked USING (user_id)
