-- Element by element: one row for each purchase and element of its merchant's vector, then back to arrays.
WITH keyed AS (
    SELECT
        user_id, authorised_at, string_split(descriptor, '*')[3] AS merchant_key,
        authorised_at >= $as_of - INTERVAL 90 DAY AS in_quarter,
        authorised_at >= $as_of - INTERVAL 30 DAY AS in_month,
        pow(0.5, (epoch_us($as_of) - epoch_us(authorised_at)) / (86400e6 * 30)) AS weight
    FROM card_transactions
    WHERE authorised_at < $as_of AND posted_at < $as_of
),
known AS (SELECT keyed.*, vector FROM keyed LEFT JOIN merchant_embeddings USING (merchant_key)),
elements AS (
    SELECT user_id, in_quarter, in_month, weight, unnest(vector) AS element, unnest(range(1, 9)) AS place
    FROM known
    WHERE vector IS NOT NULL
),
means AS (
    SELECT
        user_id, place,
        avg(CAST(element AS DOUBLE)) FILTER (in_quarter) AS quarter,
        avg(CAST(element AS DOUBLE)) FILTER (in_month) AS month,
        sum(element * weight) / sum(weight) AS recent
    FROM elements
    GROUP BY user_id, place
),
vectors AS (
    SELECT
        user_id,
        list(CAST(quarter AS FLOAT) ORDER BY place) FILTER (quarter IS NOT NULL) AS quarter,
        list(CAST(month AS FLOAT) ORDER BY place) FILTER (month IS NOT NULL) AS month,
        list(CAST(recent AS FLOAT) ORDER BY place) AS recent
    FROM means
    GROUP BY user_id
),
counted AS (
    SELECT
        user_id,
        count(*) FILTER (in_quarter) AS purchases_90d,
        count(DISTINCT merchant_key) FILTER (in_quarter) AS merchants_90d,
        count(vector) FILTER (in_quarter) AS vectors_90d,
        count(*) FILTER (in_month) AS purchases_30d
    FROM known
    GROUP BY user_id
)
SELECT
    user_id,
    $as_of AS as_of,
    purchases_90d,
    merchants_90d,
    vectors_90d,
    vectors.quarter AS merchant_vector_90d,
    purchases_30d,
    vectors.month AS merchant_vector_30d,
    vectors.recent AS recent_vector,
    vectors_90d / nullif(CAST(purchases_90d AS DOUBLE), 0) AS vector_share_90d,
    merchants_90d / nullif(CAST(purchases_90d AS DOUBLE), 0) AS variety_90d,
    purchases_30d / nullif(CAST(purchases_90d AS DOUBLE), 0) AS recent_share
FROM counted
LEFT JOIN vectors USING (user_id)
