-- Browsing of logged-in users within a category, as known at the cut-off; at_ms counts milliseconds since 1970.
WITH timed AS (
    SELECT
        user_id, category, kind, device, loaded_at,
        make_timestamptz(at_ms * 1000) AS happened,
        string_split(page, '/')[2] AS campaign,
        TRY_CAST(seconds AS INTEGER) AS stay,
        TRY_CAST(price_seen AS DECIMAL(12, 2)) AS price
    FROM category_interactions
),
known AS (
    SELECT * FROM timed
    WHERE happened < $as_of AND happened >= $as_of - INTERVAL 60 DAY AND loaded_at < $as_of
        AND user_id IS NOT NULL AND category IS NOT NULL AND kind <> 'search'
)
SELECT
    user_id,
    category,
    $as_of AS as_of,
    count(*) AS events_60d,
    count(*) FILTER (kind = 'click') AS clicks_60d,
    count(*) FILTER (device IN ('ios', 'android')) AS mobile_events_60d,
    count(*) FILTER (stay >= 60) AS long_visits_60d,
    count(DISTINCT CAST(happened AS DATE)) AS days_60d,
    count(DISTINCT campaign) AS campaigns_60d,
    avg(CAST(stay AS DOUBLE)) AS average_seconds_60d,
    max(price) AS highest_price_60d,
    CAST(count(*) FILTER (kind = 'click') AS DOUBLE) / count(*) AS click_rate_60d,
    CAST(floor((epoch_us($as_of) - epoch_us(max(happened))) / 86400e6) AS INTEGER) AS days_since_event_60d
FROM known
GROUP BY user_id, category
