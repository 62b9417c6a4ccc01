"""Week over week: this week, the one before, and changes of nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.ofr_wow_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
INTERACTIONS = (
    "interaction_id bigint, user_id bigint, offer_id bigint, kind string, "
    "occurred_at timestamp, loaded_at timestamp, day date"
)
REDEMPTIONS = "offer_id bigint, amount string, redeemed_at timestamp, loaded_at timestamp"


def click(number: int, age: timedelta, kind: str = "click", user: int | None = 1) -> tuple:
    at = CUTOFF - age
    return (number, user, 7, kind, at, at, at.date())


def features(spark: SparkSession, clicks: list[tuple], redeemed: list[tuple]) -> list[tuple]:
    """`redeemed` has offer, amount and age."""
    rows = [(offer, amount, CUTOFF - age, CUTOFF - age) for offer, amount, age in redeemed]
    inputs = {
        "offer_interactions": spark.createDataFrame(clicks, INTERACTIONS),
        "redemptions": spark.createDataFrame(rows, REDEMPTIONS),
    }
    found = compute(inputs, CUTOFF).drop("as_of").collect()
    return sorted((tuple(one) for one in found), key=lambda row: row[0])


def test_weeks_end_where_the_next_begins(spark: SparkSession) -> None:
    ages = [SECOND, 7 * DAY, 7 * DAY, 7 * DAY + SECOND, 14 * DAY, 14 * DAY + SECOND, 28 * DAY]
    clicks = [click(number, age) for number, age in enumerate(ages)]
    clicks += [click(1, 7 * DAY), click(8, 28 * DAY + SECOND), click(9, timedelta(0))]
    clicks += [click(10, DAY, "view"), click(11, DAY, user=None)]
    [found] = features(spark, clicks, [])
    assert found[1:6] == (3, 7, 2, 0.5, 12 / 7)
    assert found[6:] == (0, 0, None, None, None, None)


def test_changes_of_nothing_are_missing(spark: SparkSession) -> None:
    new, old, free, blank = 1, 2, 3, 4
    this, before = DAY, 8 * DAY
    redeemed = [
        (new, "5.00", this),
        (old, "8.00", before),
        (free, "0.00", before),
        (free, "4.00", this),
        (blank, "n/a", before),
        (blank, "4.00", this),
    ]
    five, eight, zero, four = (Decimal(text) for text in ("5.00", "8.00", "0.00", "4.00"))
    assert [row[6:] for row in features(spark, [], redeemed)] == [
        (1, 0, None, five, None, None),
        (0, 1, -1.0, None, eight, None),
        (1, 1, 0.0, four, zero, None),
        (1, 1, 0.0, four, None, None),
    ]


def test_amounts_grow_and_shrink(spark: SparkSession) -> None:
    redeemed = [(1, "6.00", DAY), (1, "4.00", 8 * DAY), (1, "n/a", DAY), (1, "9.00", 15 * DAY)]
    [found] = features(spark, [click(1, 20 * DAY)], redeemed)[:1]
    assert found[:6] == (1, 0, 0, 0, None, None)
    assert found[6:9] == (2, 1, 1.0)
    assert found[-1] == 0.5
