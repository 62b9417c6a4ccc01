-- A label looks two weeks ahead: it is known of what was shown before the cut-off less these two weeks.
WITH known AS (
    SELECT
        user_id, redeemed, shown_at,
        CASE WHEN shown_at + INTERVAL 14 DAY < $as_of THEN 'closed' ELSE 'open' END AS state
    FROM recommendations
    WHERE shown_at < $as_of AND shown_at >= $as_of - INTERVAL 90 DAY
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS shown_90d,
    count(*) FILTER (state = 'open') AS open_14d,
    count(*) FILTER (state = 'closed') AS closed_90d,
    count(*) FILTER (state = 'closed' AND redeemed) AS redeemed_90d,
    avg(CAST(redeemed AS DOUBLE)) FILTER (state = 'closed') AS redeemed_share_90d,
    CAST(1 + count(*) FILTER (state = 'closed' AND redeemed) AS DOUBLE)
        / (5 + count(*) FILTER (state = 'closed')) AS redeemed_score_90d,
    CAST(floor((epoch_us($as_of) - epoch_us(max(shown_at))) / 86400e6) AS INTEGER) AS days_since_shown_90d
FROM known
GROUP BY user_id
