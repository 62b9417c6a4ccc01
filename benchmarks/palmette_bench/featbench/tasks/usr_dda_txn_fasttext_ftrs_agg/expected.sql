-- Element by element: one row for each booking and element of its counterparty's vector, then back to arrays.
WITH keyed AS (
    SELECT
        user_id, kind, string_split(counterparty, '*')[3] AS merchant_key,
        pow(0.5, (CAST($as_of AS DATE) - booked_on) / 14.0) AS weight
    FROM account_transactions
    WHERE booked_on < CAST($as_of AS DATE) AND booked_on >= CAST($as_of AS DATE) - 90
),
known AS (SELECT keyed.*, vector FROM keyed LEFT JOIN merchant_embeddings USING (merchant_key)),
elements AS (
    SELECT user_id, kind, weight, unnest(vector) AS element, unnest(range(1, 9)) AS place
    FROM known
    WHERE vector IS NOT NULL
),
means AS (
    SELECT
        user_id, place,
        avg(CAST(element AS DOUBLE)) FILTER (kind = 'card') AS card,
        avg(CAST(element AS DOUBLE)) FILTER (kind = 'direct_debit') AS debit,
        sum(element * weight) / sum(weight) AS recent
    FROM elements
    GROUP BY user_id, place
),
vectors AS (
    SELECT
        user_id,
        list(CAST(card AS FLOAT) ORDER BY place) FILTER (card IS NOT NULL) AS card,
        list(CAST(debit AS FLOAT) ORDER BY place) FILTER (debit IS NOT NULL) AS debit,
        list(CAST(recent AS FLOAT) ORDER BY place) AS recent
    FROM means
    GROUP BY user_id
),
counted AS (
    SELECT
        user_id,
        count(*) AS bookings_90d,
        count(DISTINCT merchant_key) AS counterparties_90d,
        count(vector) AS vectors_90d,
        count(*) FILTER (kind = 'card') AS card_bookings_90d,
        count(*) FILTER (kind = 'direct_debit') AS debits_90d
    FROM known
    GROUP BY user_id
)
SELECT
    user_id,
    $as_of AS as_of,
    bookings_90d,
    counterparties_90d,
    vectors_90d,
    vectors.recent AS recent_vector_90d,
    card_bookings_90d,
    vectors.card AS card_vector_90d,
    debits_90d,
    vectors.debit AS debit_vector_90d,
    vectors_90d / CAST(bookings_90d AS DOUBLE) AS vector_share_90d,
    card_bookings_90d / CAST(bookings_90d AS DOUBLE) AS card_share_90d,
    debits_90d / CAST(bookings_90d AS DOUBLE) AS debit_share_90d
FROM counted
LEFT JOIN vectors USING (user_id)
