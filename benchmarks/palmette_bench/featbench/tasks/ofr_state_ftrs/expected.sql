-- Every offer; a state that was taken exactly at the end of the day is the next day's. The newest state counts as it
-- is, also where its budget is missing.
WITH states AS (
    SELECT *, row_number() OVER (PARTITION BY offer_id ORDER BY taken_at DESC) AS age
    FROM offer_states
    WHERE taken_at < $as_of
),
aged AS (
    SELECT
        offers.offer_id, offers.category, states.status, states.budget_left,
        CAST($as_of AS DATE) - CAST(states.taken_at AS DATE) AS state_age,
        CAST($as_of AS DATE) - offers.starts_on AS begun,
        offers.ends_on - CAST($as_of AS DATE) AS remaining
    FROM offers
    LEFT JOIN states ON states.offer_id = offers.offer_id AND states.age = 1
)
SELECT
    offer_id,
    $as_of AS as_of,
    category,
    status,
    budget_left,
    CAST(state_age AS INTEGER) AS state_age_days,
    CAST(begun AS INTEGER) AS days_open,
    CAST(remaining AS INTEGER) AS days_left,
    status IS NOT DISTINCT FROM 'live' AND begun >= 1 AND remaining >= 0 AS is_open,
    CAST($as_of - INTERVAL 1 MICROSECOND AS DATE) AS feature_day
FROM aged
