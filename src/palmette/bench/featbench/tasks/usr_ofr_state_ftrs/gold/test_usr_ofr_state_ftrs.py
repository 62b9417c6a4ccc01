"""States of offers: those of the time, at midnight, and the present ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_ofr_state_ftrs import COLUMNS, compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
TAKEN = CUTOFF - 7 * DAY
ACTIONS = (
    "interaction_id bigint, user_id bigint, offer_id bigint, kind string, dwell_ms string, "
    "occurred_at timestamp, loaded_at timestamp, day date"
)
STATES = "offer_id bigint, taken_at timestamp, status string, budget_left decimal(12,2)"


def action(number: int, at: datetime = CUTOFF - DAY, kind: str = "view", **changes) -> tuple:
    user, offer = changes.get("user", 1), changes.get("offer", 7)
    loaded, dwell = changes.get("loaded", at), changes.get("dwell", "n/a")
    return (number, user, offer, kind, dwell, at, loaded, at.date())


def state(status: str, at: datetime = TAKEN, budget: str = "500.00", offer: int = 7) -> tuple:
    return (offer, at, status, Decimal(budget))


def features(spark: SparkSession, actions: list[tuple], states: list[tuple]) -> dict:
    inputs = {
        "offer_interactions": spark.createDataFrame(actions, ACTIONS),
        "offer_states": spark.createDataFrame(states, STATES),
    }
    [found] = compute(inputs, CUTOFF).collect()
    return {name: found[name] for name in COLUMNS}


def test_the_state_of_the_time_counts(spark: SparkSession) -> None:
    states = [state("live", TAKEN - 7 * DAY), state("exhausted", TAKEN, "0.00")]
    actions = [
        action(1, TAKEN - DAY, dwell="900"),
        action(1, TAKEN - DAY, dwell="900"),
        action(2, TAKEN + DAY, "save", dwell="5000"),
        action(3, TAKEN + 2 * DAY),
    ]
    assert features(spark, actions, states) == {
        "views_28d": 2,
        "live_views_28d": 1,
        "vain_clicks_28d": 1,
        "good_chances_28d": 1,
        "lost_offers_28d": 1,
        "lowest_budget_28d": Decimal("500.00"),
        "oldest_state_hours_28d": 144.0,
        "longest_dwell_live_28d": 900,
        "paused_views_7d": 0,
        "days_since_live_28d": 8.0,
        "live_share_28d": 0.5,
    }


def test_at_midnight_the_state_is_that_of_the_week_before(spark: SparkSession) -> None:
    states = [state("live", TAKEN - 7 * DAY), state("paused", TAKEN)]
    found = features(spark, [action(1, TAKEN)], states)
    assert (found["live_views_28d"], found["paused_views_7d"]) == (1, 0)
    assert found["oldest_state_hours_28d"] == 168.0
    found = features(spark, [action(1, TAKEN + SECOND)], states)
    assert (found["live_views_28d"], found["paused_views_7d"]) == (0, 1)


def test_a_state_of_the_cutoff_is_not_the_present_one(spark: SparkSession) -> None:
    found = features(spark, [action(1)], [state("live"), state("paused", CUTOFF)])
    assert (found["live_views_28d"], found["lost_offers_28d"]) == (1, 0)


def test_offers_without_a_state(spark: SparkSession) -> None:
    found = features(spark, [action(1)], [state("live", CUTOFF - DAY)])
    assert (found["views_28d"], found["live_share_28d"]) == (1, 0.0)
    assert (found["oldest_state_hours_28d"], found["days_since_live_28d"]) == (None, None)


def test_only_what_was_known_in_the_window_counts(spark: SparkSession) -> None:
    actions = [
        action(1, CUTOFF - 28 * DAY),
        action(2, CUTOFF - 28 * DAY - SECOND),
        action(3, CUTOFF),
        action(4, loaded=CUTOFF),
        action(5, kind="dismiss"),
        action(6, user=None),
    ]
    found = features(spark, actions, [state("live", CUTOFF - 40 * DAY, "499.99")])
    assert (found["views_28d"], found["good_chances_28d"]) == (1, 0)
