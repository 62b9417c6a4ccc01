"""Recency: nothing at all, caps and bounds of days, calendar days beside 24-hour days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from recsys_features.views.usr_recency_ftrs import COLUMNS, compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def features(
    spark: SparkSession,
    actions: list[tuple] | None = None,
    visits: list[tuple] | None = None,
    redemptions: list[tuple] | None = None,
) -> dict:
    """The features of the only user; rows are what it was, its instant, and its arrival."""
    inputs = {
        "users": spark.createDataFrame([(1,)], "user_id bigint"),
        "offer_interactions": spark.createDataFrame(
            [(1, kind, at, loaded, at.date()) for kind, at, loaded in actions or []],
            "user_id bigint, kind string, occurred_at timestamp, loaded_at timestamp, day date",
        ),
        "category_interactions": spark.createDataFrame(
            [(1, int(at.timestamp() * 1000), loaded) for at, loaded in visits or []],
            "user_id bigint, at_ms bigint, loaded_at timestamp",
        ),
        "redemptions": spark.createDataFrame(
            [(1, *one) for one in redemptions or []],
            "user_id bigint, channel string, redeemed_at timestamp, loaded_at timestamp",
        ),
    }
    [found] = compute(inputs, CUTOFF).collect()
    return {name: found[name] for name in COLUMNS}


def test_who_did_nothing_has_a_row(spark: SparkSession) -> None:
    assert features(spark, redemptions=[("store", CUTOFF - DAY, CUTOFF - DAY)]) == {
        **dict.fromkeys(COLUMNS),
        "has_redeemed": False,
        "redemption_recency": 90,
        "activity": "never",
    }


@pytest.mark.parametrize(
    ("age", "recency", "activity"),
    [
        (30 * DAY - SECOND, 29, "active"),
        (30 * DAY, 30, "lapsing"),
        (90 * DAY - SECOND, 89, "lapsing"),
        (90 * DAY, 90, "lapsed"),
        (170 * DAY, 90, "lapsed"),
    ],
)
def test_caps_and_bounds(spark: SparkSession, age: timedelta, recency: int, activity: str) -> None:
    at = CUTOFF - age
    found = features(spark, redemptions=[("app", at, at)])
    assert (found["redemption_recency"], found["activity"]) == (recency, activity)
    assert found["days_since_redemption"] == age / DAY


def test_first_and_last(spark: SparkSession) -> None:
    times = [CUTOFF - 2 * DAY + SECOND, CUTOFF - 9 * DAY - SECOND]
    redemptions = [("app", at, at) for at in times]
    late = [("app", CUTOFF - SECOND, CUTOFF), ("app", CUTOFF, CUTOFF)]
    found = features(spark, redemptions=redemptions + late)
    assert found["days_since_first_redemption"] == 10, "by the calendar"
    assert found["days_since_redemption"] == (2 * DAY - SECOND) / DAY
    assert (found["redemption_recency"], found["has_redeemed"]) == (1, True)


def test_views_clicks_and_visits_of_the_window(spark: SparkSession) -> None:
    actions = [
        ("view", CUTOFF - 60 * DAY, CUTOFF - DAY),
        ("click", CUTOFF - 60 * DAY - SECOND, CUTOFF - DAY),
        ("view", CUTOFF - DAY, CUTOFF),
    ]
    visits = [(CUTOFF - 3 * DAY - SECOND, CUTOFF - DAY), (CUTOFF, CUTOFF)]
    found = features(spark, actions, visits)
    assert (found["days_since_view_60d"], found["days_since_click_60d"]) == (60, None)
    assert found["days_since_visit_60d"] == 3
