"""Tier history: the state at the cut-off, and moves to another tier before it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from recsys_features.views.usr_tier_hist_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def features(spark: SparkSession, tiers: list[tuple[int, str, int]]) -> list[tuple]:
    """Users 1 and 2 with the tiers that began so many days before the cut-off, oldest first."""
    rows = []
    for place, (user, tier, age) in enumerate(tiers):
        until = [CUTOFF - later * DAY for other, _, later in tiers[place + 1 :] if other == user]
        rows.append((user, tier, CUTOFF - age * DAY, until[0] if until else None))
    schema = "user_id bigint, tier string, valid_from timestamp, valid_to timestamp"
    frame = spark.createDataFrame(rows, schema)
    inputs = {
        "users": spark.createDataFrame([(1,), (2,)], "user_id bigint"),
        "user_tiers": frame,
        "tier_changes": frame.drop("valid_to"),
    }
    found = compute(inputs, CUTOFF).drop("as_of").collect()
    return sorted((tuple(one) for one in found), key=lambda row: row[0])


def test_every_user_has_a_row(spark: SparkSession) -> None:
    assert features(spark, [(1, "basic", 400)]) == [
        (1, "basic", 400, 0, 0, 0, None, None),
        (2, None, None, 0, 0, 0, None, None),
    ]


def test_moves_of_both_windows(spark: SparkSession) -> None:
    tiers = [(1, "basic", 366), (1, "gold", 365), (1, "silver", 91), (1, "gold", 90)]
    found = features(spark, [*tiers, (2, "basic", 400), (2, "gold", 366)])
    assert found[0] == (1, "gold", 90, 3, 1, 2, "silver", 90)
    assert found[1] == (2, "gold", 366, 0, 0, 0, None, None)


def test_the_same_tier_again_is_no_move(spark: SparkSession) -> None:
    [found, _] = features(spark, [(1, "basic", 50), (1, "silver", 40), (1, "silver", 30)])
    assert found == (1, "silver", 30, 1, 1, 0, "basic", 40)


def test_a_tier_from_the_cutoff_on_is_not_known(spark: SparkSession) -> None:
    [found, _] = features(spark, [(1, "basic", 50), (1, "gold", 0)])
    assert found == (1, "basic", 50, 0, 0, 0, None, None)
