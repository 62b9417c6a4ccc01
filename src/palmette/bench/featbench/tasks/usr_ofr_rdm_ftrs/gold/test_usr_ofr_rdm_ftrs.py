"""Redemptions: half-open windows, late rows, amounts that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

from recsys_features.views.usr_ofr_rdm_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEMA = (
    "user_id bigint, offer_id bigint, amount string, redeemed_at timestamp, loaded_at timestamp"
)


def features(spark: SparkSession, *rows: tuple[int, int, str | None, datetime, datetime]) -> list:
    frame: DataFrame = spark.createDataFrame(rows, SCHEMA)
    return [tuple(r) for r in compute({"redemptions": frame}, CUTOFF).drop("as_of").collect()]


def test_the_window_is_half_open(spark: SparkSession) -> None:
    rows = [
        (1, 7, "5.00", CUTOFF - 90 * DAY, CUTOFF - DAY),
        (1, 7, "7.50", CUTOFF - 90 * DAY - timedelta(seconds=1), CUTOFF - DAY),
        (1, 7, "9.00", CUTOFF, CUTOFF),
    ]
    assert features(spark, *rows) == [(1, 7, 1, Decimal("5.00"), 5.0, 1, 90)]


def test_a_late_row_is_not_known(spark: SparkSession) -> None:
    rows = [
        (1, 7, "5.00", CUTOFF - 2 * DAY, CUTOFF - timedelta(seconds=1)),
        (1, 7, "6.00", CUTOFF - 2 * DAY, CUTOFF),
    ]
    assert features(spark, *rows) == [(1, 7, 1, Decimal("5.00"), 5.0, 1, 2)]


def test_amounts_that_cannot_be_read_are_missing(spark: SparkSession) -> None:
    rows = [
        (1, 7, "n/a", CUTOFF - 2 * DAY, CUTOFF - DAY),
        (1, 7, "4.00", CUTOFF - 3 * DAY, CUTOFF - DAY),
        (1, 7, "6.00", CUTOFF - 3 * DAY, CUTOFF - DAY),
        (2, 7, None, CUTOFF - 1.5 * DAY, CUTOFF - DAY),
    ]
    assert sorted(features(spark, *rows), key=lambda row: row[0]) == [
        (1, 7, 3, Decimal("10.00"), 5.0, 2, 2),
        (2, 7, 1, None, None, 1, 1),
    ]
