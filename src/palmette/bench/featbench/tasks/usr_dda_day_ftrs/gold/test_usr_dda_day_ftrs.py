"""Whole days in the middle of a morning: midnights decide."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_dda_day_ftrs import compute

MORNING = datetime(2025, 3, 28, 9, 30, tzinfo=UTC)
MIDNIGHT = datetime(2025, 3, 28, tzinfo=UTC)
SCHEMA = "user_id bigint, booked_on date, amount string, kind string"


def row(month: int, day: int, amount: str | None = "-1.00", kind: str | None = "card") -> tuple:
    return (1, date(2025, month, day), amount, kind)


def features(spark: SparkSession, *rows: tuple, cutoff: datetime = MORNING) -> tuple:
    frame = compute({"account_transactions": spark.createDataFrame(rows, SCHEMA)}, cutoff)
    [found] = frame.drop("user_id", "as_of").collect()
    return tuple(found)


def test_the_day_of_the_cutoff_counts_and_the_first_day_does_not(spark: SparkSession) -> None:
    days = [row(3, 28), row(3, 27), row(3, 22), row(3, 21), row(3, 1), row(2, 28), row(3, 29)]
    found = features(spark, *days)
    assert found[:2] == (1, 3)
    assert found[3] == 5, "28 March and back to 1 March"
    assert found[8] == 0


def test_at_midnight_it_is_the_other_way_round(spark: SparkSession) -> None:
    days = [row(3, 28), row(3, 27), row(3, 21), row(3, 20)]
    found = features(spark, *days, cutoff=MIDNIGHT)
    assert (found[0], found[1], found[8]) == (1, 2, 1)


def test_weekends_and_first_days(spark: SparkSession) -> None:
    rows = [
        row(3, 22, "-6.00"),
        row(3, 23, "n/a"),
        row(3, 23, "8.00"),
        row(3, 24, "-2.00"),
        row(3, 3, "-4.00"),
        row(3, 4, None),
        row(1, 1, "-9.00"),
        row(3, 24, "-9.00", None),
    ]
    found = features(spark, *rows)
    assert found[1:5] == (4, Decimal("8.00"), 5, 3)
    assert found[5:8] == (Decimal("12.00"), Decimal("6.00"), 2)
    assert found[9:] == (8 / 12, 0.5)


def test_a_month_without_bookings(spark: SparkSession) -> None:
    assert features(spark, row(2, 3)) == (0, 0, None, 0, 0, None, None, 1, 53, None, None)
