"""Offers by day: partitions, two tables, placements."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.tp_ofr_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
INTERACTIONS = (
    "interaction_id bigint, user_id bigint, offer_id bigint, kind string, placement string, "
    "device string, dwell_ms string, occurred_at timestamp, loaded_at timestamp, day date"
)
REDEMPTIONS = (
    "offer_id bigint, amount string, channel string, redeemed_at timestamp, loaded_at timestamp"
)


def action(number: int, kind: str, placement: str | None = "home/list/5", **changes) -> tuple:
    at = changes.get("at", CUTOFF - DAY)
    device, dwell = changes.get("device", "web"), changes.get("dwell")
    loaded = changes.get("loaded", at)
    user, day = changes.get("user", 1), at.date()
    return (number, user, 7, kind, placement, device, dwell, at, loaded, day)


def features(spark: SparkSession, actions: list[tuple], redemptions: list[tuple]) -> list[tuple]:
    inputs = {
        "offer_interactions": spark.createDataFrame(actions, INTERACTIONS),
        "redemptions": spark.createDataFrame(redemptions, REDEMPTIONS),
    }
    found = compute(inputs, CUTOFF).drop("as_of").collect()
    return sorted((tuple(one) for one in found), key=lambda row: row[0])


def test_offers_of_either_table_have_a_row_on_the_day_that_ends(spark: SparkSession) -> None:
    at = CUTOFF - 30 * DAY
    redeemed = [("4.00", "app"), ("9.00", None), ("0.00", "app"), ("n/a", "app")]
    redemptions = [(8, amount, channel, at, at) for amount, channel in redeemed]
    found = features(spark, [action(1, "view")], redemptions)
    day = date(2025, 3, 31)
    assert found == [
        (7, 1, 0, 1, 0, 0, 0, 0, 5, 0, None, 0.0, 0.0, 0.0, day),
        (8, 0, 0, 0, 0, 0, 0, 0, None, 1, Decimal("4.00"), None, None, None, day),
    ]


def test_placements_devices_and_saves(spark: SparkSession) -> None:
    actions = [
        action(1, "view", "mail/banner/3", device="ios", dwell="10000"),
        action(1, "view", "mail/banner/3", device="ios", dwell="10000"),
        action(2, "view", "home", device="android", dwell="n/a"),
        action(3, "save", "home/list/x", user=2),
        action(4, "view", None),
    ]
    [found] = features(spark, actions, [])
    assert found[1:9] == (2, 1, 2, 2, 1, 1, 1, 3)
    assert found[11:13] == (0.5, 0.5)


def test_only_what_was_known_in_the_window_counts(spark: SparkSession) -> None:
    actions = [
        action(1, "view", at=CUTOFF - 7 * DAY),
        action(2, "view", at=CUTOFF - 7 * DAY - timedelta(seconds=1)),
        action(3, "view", at=CUTOFF),
        action(4, "view", loaded=CUTOFF),
        action(5, "dismiss"),
        action(6, "view", user=None),
    ]
    [found] = features(spark, actions, [])
    assert found[1] == 1
