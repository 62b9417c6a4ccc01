"""Offer reach: users are counted once, and only what was known counts."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from recsys_features.views.offer_reach import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEMA = (
    "user_id bigint, offer_id bigint, kind string, occurred_at timestamp, loaded_at timestamp, "
    "day date"
)


def row(user: int, kind: str, at: datetime, loaded: datetime) -> tuple:
    return (user, 7, kind, at, loaded, at.date())


def test_users_are_counted_once_within_the_window(spark: SparkSession) -> None:
    rows = [
        row(1, "view", CUTOFF - DAY, CUTOFF - DAY),
        row(1, "view", CUTOFF - 30 * DAY, CUTOFF - DAY),
        row(2, "view", CUTOFF - 2 * DAY, CUTOFF - DAY),
        row(2, "click", CUTOFF - DAY, CUTOFF - DAY),
        row(3, "click", CUTOFF - DAY, CUTOFF),
        row(4, "click", CUTOFF, CUTOFF),
    ]
    found = compute({"offer_interactions": spark.createDataFrame(rows, SCHEMA)}, CUTOFF)
    assert [tuple(row) for row in found.drop("as_of").collect()] == [(7, 2, 1, 0.5)]
