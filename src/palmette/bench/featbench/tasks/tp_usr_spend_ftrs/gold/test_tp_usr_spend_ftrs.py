"""Spending by day: what a day knew, two tables, trends of nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.tp_usr_spend_ftrs import COLUMNS, compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
PURCHASES = (
    "user_id bigint, amount decimal(12,2), status string, entry string, descriptor string, "
    "authorised_at timestamp, posted_at timestamp"
)
BOOKINGS = "user_id bigint, amount string, kind string, booked_on date"


def purchase(amount: str | None = "10.00", age: timedelta = DAY, **changes) -> tuple:
    at = CUTOFF - age
    status, entry = changes.get("status", "settled"), changes.get("entry", "chip")
    descriptor, posted = changes.get("descriptor", "VOLTA**m5"), changes.get("posted", at)
    return (1, amount and Decimal(amount), status, entry, descriptor, at, posted)


def booking(amount: str, days: int, kind: str | None = "transfer", user: int = 1) -> tuple:
    return (user, amount, kind, (CUTOFF - days * DAY).date())


def features(
    spark: SparkSession,
    purchases: list[tuple],
    bookings: list[tuple] | None = None,
    cutoff: datetime = CUTOFF,
) -> list[dict]:
    inputs = {
        "card_transactions": spark.createDataFrame(purchases, PURCHASES),
        "account_transactions": spark.createDataFrame(bookings or [], BOOKINGS),
    }
    found = compute(inputs, cutoff).orderBy("user_id").collect()
    return [{name: one[name] for name in [*COLUMNS, "feature_day"]} for one in found]


def test_a_day_knows_what_was_posted_before_its_end(spark: SparkSession) -> None:
    rows = [
        purchase(age=3 * DAY),
        purchase(age=2 * DAY, posted=CUTOFF - SECOND),
        purchase(age=DAY, posted=CUTOFF),
        purchase(age=0 * DAY),
    ]
    [today] = features(spark, rows)
    assert (today["purchases_7d"], today["slowest_post_days_28d"]) == (2, 1)
    assert today["feature_day"] == date(2025, 3, 31)
    [tomorrow] = features(spark, rows, cutoff=CUTOFF + DAY)
    assert (tomorrow["purchases_7d"], tomorrow["feature_day"]) == (4, date(2025, 4, 1))
    [yesterday] = features(spark, rows, cutoff=CUTOFF - DAY)
    assert (yesterday["purchases_7d"], yesterday["feature_day"]) == (1, date(2025, 3, 30))


def test_trends(spark: SparkSession) -> None:
    purchases = [purchase("8.00", 7 * DAY), purchase("6.00", 7 * DAY + SECOND)]
    purchases += [purchase("6.00", 28 * DAY), purchase("6.00", 28 * DAY + SECOND)]
    [found] = features(
        spark, purchases, [booking("-4.00", 7), booking("-3.00", 8), booking("9", 1)]
    )
    assert (found["spend_28d"], found["spend_before"]) == (Decimal("20.00"), Decimal("12.00"))
    assert (found["spend_trend"], found["outflow_trend"]) == (2.0, 4.0)


def test_users_of_either_table_have_a_row(spark: SparkSession) -> None:
    bookings = [
        booking("-4.00", 28, user=2),
        booking("-4.00", 29, user=3),
        booking("-4.00", 0, user=4),
    ]
    first, second = features(spark, [purchase()], bookings)
    assert (first["outflow_28d"], first["outflow_trend"], first["spend_trend"]) == (0, None, None)
    assert (second["purchases_28d"], second["spend_28d"], second["merchants_28d"]) == (0, 0, 0)
    assert (second["slowest_post_days_28d"], second["outflow_trend"]) == (None, 0.0)


def test_what_does_not_count(spark: SparkSession) -> None:
    rows = [purchase(status="reversed"), purchase("0.00"), purchase(None), purchase("1.00")]
    bookings = [
        booking("-1", 1, "card"),
        booking("-1", 1, None),
        booking("n/a", 1),
        booking("-2", 1),
    ]
    [found] = features(spark, rows, bookings)
    assert (found["purchases_7d"], found["outflow_7d"]) == (1, Decimal("2.00"))


def test_sizes_entries_and_merchants(spark: SparkSession) -> None:
    rows = [
        purchase("99.99", descriptor="VOLTA"),
        purchase("100.00", entry="tap", descriptor="VOLTA*LYON*m5"),
        purchase("500.00", entry="online"),
        purchase("500.00", entry=None, age=2 * DAY),
    ]
    [found] = features(spark, rows)
    assert (found["large_purchases_28d"], found["in_store_purchases_28d"]) == (3, 2)
    assert (found["merchants_28d"], found["shopping_days_28d"]) == (1, 2)
