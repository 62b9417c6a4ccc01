-- Every user; a move is a row that follows one of another tier. Nothing that begins at the cut-off is known.
WITH history AS (
    SELECT later.user_id, later.tier, later.valid_from, earlier.tier AS tier_before
    FROM user_tiers AS later
    ASOF JOIN user_tiers AS earlier
        ON earlier.user_id = later.user_id AND earlier.valid_from < later.valid_from
    WHERE later.valid_from < $as_of
),
moves AS (
    SELECT
        user_id,
        count(*) AS year,
        count(*) FILTER (valid_from >= $as_of - INTERVAL 90 DAY) AS quarter,
        count(*) FILTER (tier = 'gold') AS to_gold,
        arg_max(tier_before, valid_from) AS tier_before,
        max(valid_from) AS newest
    FROM history
    WHERE tier <> tier_before AND valid_from >= $as_of - INTERVAL 365 DAY
    GROUP BY user_id
),
states AS (
    SELECT user_id, tier, valid_from FROM user_tiers
    WHERE valid_from < $as_of AND (valid_to IS NULL OR valid_to >= $as_of)
)
SELECT
    users.user_id,
    $as_of AS as_of,
    states.tier,
    CAST(date_diff('day', CAST(states.valid_from AS DATE), CAST($as_of AS DATE)) AS INTEGER) AS tier_days,
    coalesce(moves.year, 0) AS moves_365d,
    coalesce(moves.quarter, 0) AS moves_90d,
    coalesce(moves.to_gold, 0) AS moves_to_gold_365d,
    moves.tier_before AS tier_before_365d,
    CAST(floor((epoch_us($as_of) - epoch_us(moves.newest)) / 86400e6) AS INTEGER) AS days_since_move_365d
FROM users
LEFT JOIN states USING (user_id)
LEFT JOIN moves USING (user_id)
