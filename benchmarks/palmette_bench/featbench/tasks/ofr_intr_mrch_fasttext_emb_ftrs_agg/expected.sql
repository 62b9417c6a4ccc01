-- Element by element: one row for each interaction and element of its merchant's vector, then back to arrays.
WITH known AS (
    SELECT
        row_number() OVER () AS event, offer_id, merchant_key, kind, vector,
        TRY_CAST(dwell_ms AS INTEGER) / 1000.0 AS seconds
    FROM offer_interactions
    LEFT JOIN merchant_embeddings USING (merchant_key)
    WHERE occurred_at < $as_of AND occurred_at >= $as_of - INTERVAL 30 DAY AND loaded_at < $as_of
        AND merchant_key IS NOT NULL
),
elements AS (
    SELECT offer_id, kind, seconds, unnest(vector) AS element, unnest(range(1, 9)) AS place
    FROM known
    WHERE vector IS NOT NULL
),
means AS (
    SELECT
        offer_id, place,
        avg(CAST(element AS DOUBLE)) FILTER (kind = 'view') AS viewed,
        avg(CAST(element AS DOUBLE)) FILTER (kind = 'click') AS clicked,
        sum(element * seconds) / nullif(sum(seconds), 0) AS stayed
    FROM elements
    GROUP BY offer_id, place
),
vectors AS (
    SELECT
        offer_id,
        list(CAST(viewed AS FLOAT) ORDER BY place) FILTER (viewed IS NOT NULL) AS viewed,
        list(CAST(clicked AS FLOAT) ORDER BY place) FILTER (clicked IS NOT NULL) AS clicked,
        list(CAST(stayed AS FLOAT) ORDER BY place) FILTER (stayed IS NOT NULL) AS stayed
    FROM means
    GROUP BY offer_id
),
counted AS (
    SELECT
        offer_id,
        count(*) AS interactions_30d,
        count(DISTINCT merchant_key) AS merchants_30d,
        count(vector) AS vectors_30d,
        CAST(sum(seconds) AS DOUBLE) AS dwell_seconds_30d,
        count(*) FILTER (kind = 'view') AS views_30d,
        count(DISTINCT merchant_key) FILTER (kind = 'view') AS viewed_merchants_30d,
        count(*) FILTER (kind = 'click') AS clicks_30d,
        count(DISTINCT merchant_key) FILTER (kind = 'click') AS clicked_merchants_30d
    FROM known
    GROUP BY offer_id
)
SELECT
    offer_id,
    $as_of AS as_of,
    interactions_30d,
    merchants_30d,
    vectors_30d,
    dwell_seconds_30d,
    vectors.stayed AS dwell_vector_30d,
    views_30d,
    viewed_merchants_30d,
    vectors.viewed AS viewed_vector_30d,
    clicks_30d,
    clicked_merchants_30d,
    vectors.clicked AS clicked_vector_30d,
    vectors_30d / CAST(interactions_30d AS DOUBLE) AS vector_share_30d,
    clicks_30d / nullif(CAST(views_30d AS DOUBLE), 0) AS click_rate_30d,
    clicked_merchants_30d / CAST(merchants_30d AS DOUBLE) AS clicked_merchant_share_30d,
    dwell_seconds_30d / interactions_30d AS dwell_per_interaction_30d
FROM counted
LEFT JOIN vectors USING (offer_id)
