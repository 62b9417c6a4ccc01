"""Redemptions of a user: two windows, readable amounts, stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_ofr_rdm_agg_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEMA = (
    "user_id bigint, offer_id bigint, amount string, cashback string, till string, "
    "redeemed_at timestamp, loaded_at timestamp"
)


def row(at: datetime, amount: str | None = "10.00", **changes) -> tuple:
    cashback, till = changes.get("cashback"), changes.get("till")
    return (1, changes.get("offer", 7), amount, cashback, till, at, changes.get("loaded", at))


def features(spark: SparkSession, *rows: tuple) -> list[tuple]:
    frame = compute({"redemptions": spark.createDataFrame(rows, SCHEMA)}, CUTOFF)
    return [tuple(one) for one in frame.drop("as_of").collect()]


def test_both_windows_are_half_open(spark: SparkSession) -> None:
    second = timedelta(seconds=1)
    rows = [
        row(CUTOFF - 180 * DAY, amount="6.00"),
        row(CUTOFF - 180 * DAY - second),
        row(CUTOFF - 30 * DAY, amount="2.00"),
        row(CUTOFF - 30 * DAY - second, amount="8.00"),
        row(CUTOFF),
    ]
    [found] = features(spark, *rows)
    assert found[:2] == (1, 3) and found[5] == Decimal("16.00")
    assert found[8:] == (1, Decimal("2.00"), 0.125, None)


def test_without_recent_redemptions_counts_are_0_and_amounts_missing(spark: SparkSession) -> None:
    [found] = features(spark, row(CUTOFF - 100 * DAY, cashback="1.00"))
    assert found[7:] == (100, 0, None, None, 0.1)


def test_unreadable_and_empty_amounts_do_not_count(spark: SparkSession) -> None:
    rows = [row(CUTOFF - DAY, amount=amount) for amount in ("n/a", "0.00", None, "5.00")]
    [found] = features(spark, *rows)
    assert (found[1], found[5]) == (1, Decimal("5.00"))


def test_stores_offers_and_late_rows(spark: SparkSession) -> None:
    rows = [
        row(CUTOFF - DAY, till="store-1/2", offer=7),
        row(CUTOFF - DAY, till="store-1/3", offer=8),
        row(CUTOFF - 2 * DAY, till=None, offer=8),
        row(CUTOFF - DAY, till="store-2/1", offer=9, loaded=CUTOFF),
    ]
    [found] = features(spark, *rows)
    assert found[1:5] == (3, 2, 1, 2)
