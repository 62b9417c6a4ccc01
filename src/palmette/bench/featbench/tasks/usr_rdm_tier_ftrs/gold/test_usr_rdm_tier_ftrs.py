"""Tiers of redemptions: as they were, on the instant of a change, and now."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_rdm_tier_ftrs import COLUMNS, compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
CHANGE = CUTOFF - 30 * DAY
TIERS = [(1, "basic", CHANGE - 200 * DAY, CHANGE), (1, "gold", CHANGE, None)]


def features(
    spark: SparkSession,
    redemptions: list[tuple],
    bookings: list[date] | None = None,
    tiers: list[tuple] | None = None,
) -> list[dict]:
    """The features of user 1; redemptions are amount, instant and time of arrival."""
    inputs = {
        "redemptions": spark.createDataFrame(
            [(number, 1, *one) for number, one in enumerate(redemptions)],
            "redemption_id bigint, user_id bigint, amount string, "
            "redeemed_at timestamp, loaded_at timestamp",
        ),
        "account_transactions": spark.createDataFrame(
            [(1, day) for day in bookings or []], "user_id bigint, booked_on date"
        ),
        "user_tiers": spark.createDataFrame(
            TIERS if tiers is None else tiers,
            "user_id bigint, tier string, valid_from timestamp, valid_to timestamp",
        ),
    }
    found = compute(inputs, CUTOFF).collect()
    return [{name: one[name] for name in COLUMNS} for one in found]


def test_each_redemption_has_the_tier_of_its_time(spark: SparkSession) -> None:
    before, after = CHANGE - DAY, CHANGE + DAY
    rows = [("5.00", before, before), ("7.00", after, after), ("2.00", after, after)]
    assert features(spark, rows) == [
        {
            "tier": "gold",
            "redemptions_120d": 3,
            "gold_redemptions_120d": 2,
            "gold_amount_120d": Decimal("9.00"),
            "silver_amount_120d": None,
            "basic_amount_120d": Decimal("5.00"),
            "tiers_120d": 2,
            "same_tier_share_120d": 2 / 3,
            "soonest_days_120d": 1,
            "last_tier_120d": "gold",
            "bookings_120d": 0,
            "basic_bookings_120d": 0,
            "gold_share_120d": 2 / 3,
        }
    ]


def test_a_tier_does_not_hold_yet_when_it_begins(spark: SparkSession) -> None:
    [found] = features(spark, [("5.00", CHANGE, CHANGE)])
    assert (found["tier"], found["last_tier_120d"]) == ("gold", "basic")
    [found] = features(spark, [("5.00", CHANGE + SECOND, CHANGE + SECOND)])
    assert (found["last_tier_120d"], found["soonest_days_120d"]) == ("gold", 0)


def test_a_booking_of_the_day_of_a_change_has_the_old_tier(spark: SparkSession) -> None:
    day = CHANGE.date()
    [found] = features(spark, [], [day - DAY, day, day + DAY, CUTOFF.date()])
    assert (found["bookings_120d"], found["basic_bookings_120d"]) == (3, 2)
    assert (found["redemptions_120d"], found["gold_share_120d"]) == (0, None)


def test_what_begins_at_the_cutoff_is_not_now(spark: SparkSession) -> None:
    tiers = [(1, "silver", CHANGE, CUTOFF), (1, "gold", CUTOFF, None)]
    [found] = features(spark, [("5.00", CUTOFF - DAY, CUTOFF - DAY)], tiers=tiers)
    assert (found["tier"], found["same_tier_share_120d"]) == ("silver", 1.0)
    assert found["silver_amount_120d"] == Decimal("5.00")


def test_only_what_was_known_in_the_window_counts(spark: SparkSession) -> None:
    rows = [
        ("5.00", CUTOFF - 120 * DAY, CUTOFF - DAY),
        ("5.00", CUTOFF - 120 * DAY - SECOND, CUTOFF - DAY),
        ("5.00", CUTOFF, CUTOFF - DAY),
        ("5.00", CUTOFF - DAY, CUTOFF),
        ("0.00", CUTOFF - DAY, CUTOFF - DAY),
        ("n/a", CUTOFF - DAY, CUTOFF - DAY),
    ]
    assert [one["redemptions_120d"] for one in features(spark, rows)] == [1]


def test_users_without_a_tier(spark: SparkSession) -> None:
    at = CUTOFF - DAY
    [found] = features(spark, [("5.00", at, at)], [at.date()], tiers=[])
    assert (found["redemptions_120d"], found["bookings_120d"], found["tiers_120d"]) == (1, 1, 0)
    assert (found["tier"], found["same_tier_share_120d"]) == (None, None)
    assert found["gold_share_120d"] == 0.0
