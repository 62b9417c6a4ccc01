-- By the clock of Lisbon: windows begin at the cut-off's local time of the day, so one with the change is 167 hours.
WITH starts AS (
    SELECT
        timezone('Europe/Lisbon', timezone('Europe/Lisbon', $as_of) - INTERVAL 28 DAY) AS month,
        timezone('Europe/Lisbon', timezone('Europe/Lisbon', $as_of) - INTERVAL 7 DAY) AS week
),
known AS (
    SELECT
        user_id, interaction_id,
        occurred_at >= starts.week AS in_week,
        timezone('Europe/Lisbon', occurred_at) AS clock
    FROM offer_interactions, starts
    WHERE occurred_at < $as_of AND occurred_at >= starts.month AND loaded_at < $as_of
        AND user_id IS NOT NULL AND kind <> 'dismiss'
),
actions AS (
    -- One row a delivery; those of one action are equal.
    SELECT DISTINCT
        *,
        CAST(clock AS DATE) AS local_day,
        date_part('hour', clock) AS local_hour,
        isodow(clock) >= 6 AS weekend
    FROM known
)
SELECT
    user_id,
    $as_of AS as_of,
    count(*) AS actions_28d,
    count(*) FILTER (local_hour BETWEEN 0 AND 5) AS night_actions_28d,
    count(*) FILTER (local_hour BETWEEN 6 AND 11) AS morning_actions_28d,
    count(*) FILTER (local_hour BETWEEN 18 AND 23) AS evening_actions_28d,
    count(*) FILTER (weekend) AS weekend_actions_28d,
    count(DISTINCT local_day) AS active_days_28d,
    count(DISTINCT local_hour) AS active_hours_28d,
    count(*) FILTER (in_week) AS actions_7d,
    count(DISTINCT local_day) FILTER (in_week) AS active_days_7d,
    count(*) FILTER (in_week AND weekend AND local_hour >= 18) AS weekend_evening_actions_7d,
    CAST(evening_actions_28d AS DOUBLE) / actions_28d AS evening_share_28d,
    CAST(weekend_actions_28d AS DOUBLE) / actions_28d AS weekend_share_28d
FROM actions
GROUP BY user_id
