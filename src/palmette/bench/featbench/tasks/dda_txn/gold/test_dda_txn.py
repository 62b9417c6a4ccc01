"""Bookings: whole days, signs, amounts that cannot be read."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import Row, SparkSession

from recsys_features.views.dda_txn import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
TODAY = date(2025, 4, 1)
SCHEMA = "user_id bigint, booked_on date, amount string, kind string"


def days_ago(days: int) -> date:
    return TODAY - timedelta(days=days)


def features(spark: SparkSession, *rows: tuple) -> Row:
    frame = spark.createDataFrame([(1, *row) for row in rows], SCHEMA)
    [found] = compute({"account_transactions": frame}, CUTOFF).drop("as_of").collect()
    return found


def test_whole_days_before_the_cutoff(spark: SparkSession) -> None:
    rows = [(days_ago(days), "-1.00", "card") for days in (0, 7, 8, 30, 31, 90, 91)]
    found = features(spark, *rows)
    assert (found.bookings_90d, found.bookings_30d, found.bookings_7d) == (5, 3, 1)
    assert (found.days_since_booking_90d, found.outflow_share_30d) == (7, 0.6)


def test_money_in_and_out(spark: SparkSession) -> None:
    rows = [
        (days_ago(20), "100.00", "transfer"),
        (days_ago(20), "-25.00", "card"),
        (days_ago(20), "-99.00", "fee"),
        (days_ago(20), "-99.00", None),
        (days_ago(20), "0.00", "card"),
    ]
    found = features(spark, *rows)
    assert (found.bookings_90d, found.debits_90d, found.large_bookings_90d) == (3, 1, 1)
    assert (found.inflow_90d, found.outflow_90d) == (Decimal("100.00"), Decimal("25.00"))
    assert (found.saving_rate_90d, found.bookings_7d, found.smallest_amount_7d) == (0.75, 0, None)


def test_what_cannot_be_read_moves_nothing(spark: SparkSession) -> None:
    found = features(spark, (days_ago(1), "n/a", "card"), (days_ago(2), None, "card"))
    assert (found.bookings_90d, found.debits_90d, found.outflow_90d) == (2, 0, Decimal("0.00"))
    assert (found.saving_rate_90d, found.outflow_share_30d) == (None, None)
    assert found.smallest_amount_7d is None
