"""Labels of recommendations: the two weeks that a label looks ahead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from recsys_features.views.usr_rec_label_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def features(spark: SparkSession, *rows: tuple[timedelta, bool]) -> list[tuple]:
    """The features of a user, given the ages and labels of what was recommended."""
    shown = [(1, CUTOFF - age, redeemed) for age, redeemed in rows]
    frame = spark.createDataFrame(shown, "user_id bigint, shown_at timestamp, redeemed boolean")
    return [tuple(one)[2:] for one in compute({"recommendations": frame}, CUTOFF).collect()]


def test_a_label_of_the_last_two_weeks_does_not_count(spark: SparkSession) -> None:
    rows = [(14 * DAY + SECOND, True), (14 * DAY, True), (13 * DAY, True), (20 * DAY, False)]
    assert features(spark, *rows) == [(4, 2, 2, 1, 0.5, 2 / 7, 13)]


def test_only_open_recommendations(spark: SparkSession) -> None:
    assert features(spark, (DAY / 2, True)) == [(1, 1, 0, 0, None, 0.2, 0)]


def test_the_window(spark: SparkSession) -> None:
    assert features(spark, (90 * DAY, True), (0 * DAY, True)) == [(1, 0, 1, 1, 1.0, 2 / 6, 90)]
    assert features(spark, (90 * DAY + SECOND, True)) == []
