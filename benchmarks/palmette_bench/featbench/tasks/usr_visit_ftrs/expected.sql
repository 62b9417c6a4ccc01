-- Visits begin where nothing was known of the user for six hours; days in a row are days after another day.
WITH known AS (
    SELECT
        user_id, event_id, make_timestamptz(at_ms * 1000) AS happened,
        CAST(make_timestamptz(at_ms * 1000) AS DATE) AS day
    FROM category_interactions
    WHERE at_ms < epoch_ms($as_of) AND loaded_at < $as_of AND user_id IS NOT NULL
),
paused AS (
    SELECT
        *, epoch_ms(happened) - lag(epoch_ms(happened)) OVER (PARTITION BY user_id ORDER BY happened, event_id) AS pause
    FROM known
),
visited AS (
    SELECT
        *,
        sum(CASE WHEN pause IS NULL OR pause >= 6 * 3600000 THEN 1 ELSE 0 END)
            OVER (PARTITION BY user_id ORDER BY happened, event_id ROWS UNBOUNDED PRECEDING) AS visit
    FROM paused
),
days AS (
    SELECT one.user_id, count(*) AS in_a_row
    FROM (SELECT DISTINCT user_id, day FROM known) AS one
    JOIN (SELECT DISTINCT user_id, day FROM known) AS other
        ON other.user_id = one.user_id AND other.day = one.day - 1
    WHERE one.day >= CAST($as_of - INTERVAL 60 DAY AS DATE)
    GROUP BY one.user_id
),
recent AS (
    SELECT *, happened >= $as_of - INTERVAL 7 DAY AS in_week
    FROM visited
    WHERE happened >= $as_of - INTERVAL 60 DAY
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS events_60d,
    count(DISTINCT visit) AS visits_60d,
    count(DISTINCT visit) FILTER (in_week) AS visits_7d,
    count(DISTINCT day) AS days_60d,
    coalesce(any_value(days.in_a_row), 0) AS days_in_a_row_60d,
    count(*) FILTER (pause >= 7 * 86400000) AS returns_60d,
    max(pause) / 3600e3 AS longest_pause_60d,
    CAST(epoch_us($as_of) - epoch_us(max(happened)) AS DOUBLE) / 86400e6 AS days_since_event_60d,
    CAST(count(*) AS DOUBLE) / count(DISTINCT visit) AS events_per_visit_60d
FROM recent
LEFT JOIN days USING (user_id)
GROUP BY user_id
