"""First and last bookings: among those of a day, the number decides."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_dda_ends_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
SCHEMA = (
    "booking_id bigint, user_id bigint, booked_on date, amount string, kind string, "
    "counterparty string"
)


def row(number: int, age: int, amount: str | None, kind: str | None = "card", payee="A*B*m1"):
    return (number, 1, date(2025, 4, 1) - timedelta(days=age), amount, kind, payee)


def features(spark: SparkSession, *rows: tuple) -> list[tuple]:
    frame = compute({"account_transactions": spark.createDataFrame(rows, SCHEMA)}, CUTOFF)
    return [tuple(one) for one in frame.drop("user_id", "as_of").collect()]


def test_the_number_decides_within_a_day(spark: SparkSession) -> None:
    rows = [
        row(9, 7, "-3.00", "transfer", "LAST*CITY*m3"),
        row(3, 7, "8.00", "card", "MIDDLE"),
        row(7, 90, "2.00", "card", "LAST"),
        row(5, 90, "1.00", "direct_debit", "FIRST*CITY*m1"),
    ]
    [found] = features(spark, *rows)
    assert found[:5] == (4, Decimal("1.00"), Decimal("-3.00"), "LAST", "transfer")
    assert found[5:7] == (["transfer", "card", "card"], ["LAST", "MIDDLE"])
    assert found[7:] == (2, Decimal("-4.00"), 0.5)


def test_what_is_missing_is_no_end(spark: SparkSession) -> None:
    rows = [row(1, 9, "n/a"), row(2, 8, "4.00"), row(3, 8, None), row(4, 8, "5.00")]
    [found] = features(spark, *rows)
    assert found[:5] == (4, Decimal("4.00"), Decimal("5.00"), "A", None)
    assert found[7] == 0, "beside a booking without an amount nothing goes up"
    [found] = features(spark, row(1, 1, "n/a", payee=None))
    assert found == (1, None, None, None, "card", ["card"], [], 0, None, 0.0)


def test_only_the_window_counts_but_the_booking_before_it_is_known(spark: SparkSession) -> None:
    rows = [
        row(1, 91, "1.00"),
        row(2, 90, "2.00"),
        row(3, 0, "9.00"),
        row(4, 5, "9.00", "fee"),
        row(5, 5, "9.00", None),
    ]
    [found] = features(spark, *rows)
    assert (found[0], found[1], found[7]) == (1, Decimal("2.00"), 1)
