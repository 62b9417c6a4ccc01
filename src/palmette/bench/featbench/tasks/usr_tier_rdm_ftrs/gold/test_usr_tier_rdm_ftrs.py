"""Tiers: every user has a row, with the state just before the cut-off."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_tier_rdm_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def features(spark: SparkSession, tiers: list[tuple], redemptions: list[tuple]) -> list[tuple]:
    inputs = {
        "users": spark.createDataFrame(
            [(1, "north", date(2025, 3, 31)), (2, None, None)],
            "user_id bigint, region string, joined_on date",
        ),
        "user_tiers": spark.createDataFrame(
            tiers, "user_id bigint, tier string, valid_from timestamp, valid_to timestamp"
        ),
        "redemptions": spark.createDataFrame(
            redemptions, "user_id bigint, amount string, redeemed_at timestamp, loaded_at timestamp"
        ),
    }
    found = compute(inputs, CUTOFF).drop("as_of").collect()
    return sorted((tuple(one) for one in found), key=lambda row: row[0])


def test_every_user_has_a_row(spark: SparkSession) -> None:
    rows = [
        (1, "5.00", CUTOFF - 90 * DAY, CUTOFF - DAY),
        (1, "n/a", CUTOFF - DAY, CUTOFF - DAY),
        (1, "7.00", CUTOFF - DAY, CUTOFF),
        (1, "7.00", CUTOFF - 90 * DAY - timedelta(seconds=1), CUTOFF - DAY),
    ]
    found = features(spark, [(1, "gold", CUTOFF - DAY, None)], rows)
    assert found == [
        (1, "north", "gold", 1, 2, Decimal("5.00")),
        (2, None, None, None, 0, None),
    ]


def test_a_tier_from_the_cutoff_on_is_not_known(spark: SparkSession) -> None:
    tiers = [
        (1, "basic", CUTOFF - 9 * DAY, CUTOFF),
        (1, "gold", CUTOFF, None),
        (2, "silver", CUTOFF - 9 * DAY, CUTOFF - DAY),
    ]
    assert [row[2] for row in features(spark, tiers, [])] == ["basic", None]
