"""Visits: pauses, late events between two others, days in a row, the edge of the window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from recsys_features.views.usr_visit_ftrs import COLUMNS, compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MILLISECOND = timedelta(milliseconds=1)


def features(spark: SparkSession, *ages: timedelta, late: tuple[timedelta, ...] = ()) -> dict:
    """The features of a user, given the ages of events; those of `late` arrived at the cut-off."""
    times = [(CUTOFF - age, CUTOFF - DAY) for age in ages] + [
        (CUTOFF - age, CUTOFF) for age in late
    ]
    rows = [(n, 1, round(at.timestamp() * 1000), loaded) for n, (at, loaded) in enumerate(times)]
    schema = "event_id bigint, user_id bigint, at_ms bigint, loaded_at timestamp"
    found = compute(
        {"category_interactions": spark.createDataFrame(rows, schema)}, CUTOFF
    ).collect()
    return {name: found[0][name] for name in COLUMNS} if found else {}


def test_a_visit_ends_after_six_hours(spark: SparkSession) -> None:
    apart = features(spark, 2 * DAY, 2 * DAY - 6 * HOUR)
    assert (apart["visits_60d"], apart["events_per_visit_60d"]) == (2, 1.0)
    together = features(spark, 2 * DAY, 2 * DAY - 6 * HOUR + MILLISECOND)
    assert (together["visits_60d"], together["events_per_visit_60d"]) == (1, 2.0)


def test_a_visit_may_begin_before_the_window(spark: SparkSession) -> None:
    found = features(spark, 60 * DAY + HOUR, 60 * DAY, 7 * DAY + HOUR, 7 * DAY)
    assert (found["events_60d"], found["visits_60d"], found["visits_7d"]) == (3, 2, 1)
    assert found["longest_pause_60d"] == (53 * DAY - HOUR) / HOUR
    assert features(spark, 60 * DAY + MILLISECOND) == {}


def test_days_in_a_row(spark: SparkSession) -> None:
    ages = [5 * DAY, 4 * DAY, 4 * DAY - HOUR, 4 * DAY - 3 * HOUR, 3 * DAY + HOUR, 2 * DAY - HOUR]
    found = features(spark, *ages)
    assert (found["days_60d"], found["days_in_a_row_60d"]) == (3, 1)


def test_what_is_not_known_joins_nothing(spark: SparkSession) -> None:
    ages = (30 * DAY, 30 * DAY - 8 * HOUR)
    found = features(spark, *ages, late=(30 * DAY - 4 * HOUR,))
    assert (found["events_60d"], found["visits_60d"], found["longest_pause_60d"]) == (2, 2, 8.0)


def test_who_comes_back_after_a_week(spark: SparkSession) -> None:
    found = features(spark, 20 * DAY, 13 * DAY, 6 * DAY + MILLISECOND)
    assert (found["returns_60d"], found["visits_7d"]) == (1, 1)
    assert found["days_since_event_60d"] == (6 * DAY + MILLISECOND) / DAY
