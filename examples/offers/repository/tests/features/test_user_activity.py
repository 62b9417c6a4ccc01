"""User activity: windows, availability and repeated deliveries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from offers.features.user_activity import build_features

AS_OF = datetime(2025, 3, 1, tzinfo=UTC)
SCHEMA = (
    "interaction_id bigint, user_id bigint, action string, event_time timestamp, "
    "available_time timestamp, day date"
)
OUTPUT = (
    "user_id bigint, as_of timestamp, active_days_30d bigint, days_since_seen int, "
    "impressions_7d bigint, clicks_7d bigint, click_rate_7d double"
)
SECOND = timedelta(seconds=1)


def row(number: int, user: int, action: str, when: datetime, available: datetime | None = None):
    return (number, user, action, when, available or when, when.date())


def test_counts_only_the_half_open_windows(spark: SparkSession) -> None:
    rows = [
        row(1, 1, "impression", AS_OF - timedelta(days=30)),
        row(2, 1, "impression", AS_OF - timedelta(days=30) - SECOND),
        row(3, 1, "impression", AS_OF - timedelta(days=7)),
        row(4, 1, "click", AS_OF - SECOND),
        row(5, 1, "click", AS_OF),
    ]
    actual = build_features({"interactions": spark.createDataFrame(rows, SCHEMA)}, AS_OF)
    expected = spark.createDataFrame([(1, AS_OF, 3, 1, 1, 1, 1.0)], OUTPUT)
    assertDataFrameEqual(actual, expected)


def test_ignores_rows_that_were_not_yet_available(spark: SparkSession) -> None:
    rows = [
        row(1, 1, "impression", AS_OF - timedelta(days=1)),
        row(2, 1, "click", AS_OF - timedelta(days=1), available=AS_OF),
    ]
    actual = build_features({"interactions": spark.createDataFrame(rows, SCHEMA)}, AS_OF)
    expected = spark.createDataFrame([(1, AS_OF, 1, 1, 1, 0, 0.0)], OUTPUT)
    assertDataFrameEqual(actual, expected)


def test_counts_a_repeated_delivery_once(spark: SparkSession) -> None:
    rows = [row(1, 1, "impression", AS_OF - timedelta(days=2))] * 2
    actual = build_features({"interactions": spark.createDataFrame(rows, SCHEMA)}, AS_OF)
    expected = spark.createDataFrame([(1, AS_OF, 1, 2, 1, 0, 0.0)], OUTPUT)
    assertDataFrameEqual(actual, expected)


def test_a_rate_without_impressions_is_null(spark: SparkSession) -> None:
    rows = [row(1, 1, "click", AS_OF - timedelta(days=2))]
    actual = build_features({"interactions": spark.createDataFrame(rows, SCHEMA)}, AS_OF)
    expected = spark.createDataFrame([(1, AS_OF, 1, 2, 0, 1, None)], OUTPUT)
    assertDataFrameEqual(actual, expected)
