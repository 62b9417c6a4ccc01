"""Card purchases: windows, kinds and sizes, what counts as a purchase."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import Row, SparkSession

from recsys_features.views.card_txn import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEMA = (
    "user_id bigint, mcc int, amount decimal(12,2), currency string, status string, entry string, "
    "authorised_at timestamp, posted_at timestamp"
)


def row(amount: str | None, at: datetime = CUTOFF - DAY, **changes) -> tuple:
    euros = None if amount is None else Decimal(amount)
    currency, status = changes.get("currency", "EUR"), changes.get("status", "settled")
    posted, entry = changes.get("posted", at), changes.get("entry", "chip")
    return (1, changes.get("mcc", 5999), euros, currency, status, entry, at, posted)


def features(spark: SparkSession, *rows: tuple) -> Row:
    frame = spark.createDataFrame(rows, SCHEMA)
    [found] = compute({"card_transactions": frame}, CUTOFF).drop("as_of").collect()
    return found


def test_three_half_open_windows(spark: SparkSession) -> None:
    second = timedelta(seconds=1)
    starts = [CUTOFF - days * DAY for days in (90, 30, 7)]
    rows = [row("1.00", at) for at in (*starts, *(start - second for start in starts), CUTOFF)]
    found = features(spark, *rows)
    assert (found.purchases_90d, found.purchases_30d, found.purchases_7d) == (5, 3, 1)
    assert (found.spend_share_30d, found.spend_share_7d) == (0.6, 1 / 3)
    assert found.days_since_purchase_90d == 7


def test_only_settled_euros_that_were_posted_count(spark: SparkSession) -> None:
    others = [
        row("5.00", status="pending"),
        row("5.00", status=None),
        row("5.00", currency="GBP"),
        row("5.00", posted=CUTOFF),
        row("0.00"),
        row(None),
    ]
    found = features(spark, row("7.00", CUTOFF - 60 * DAY), *others)
    assert (found.purchases_90d, found.spend_90d) == (1, Decimal("7.00"))
    assert (found.purchases_30d, found.spend_30d, found.deviation_90d) == (0, None, None)
    assert (found.spend_share_30d, found.spend_share_7d) == (None, None)


def test_kinds_and_sizes(spark: SparkSession) -> None:
    rows = [
        row("9.99", mcc=5411),
        row("49.99", mcc=5812, entry="online"),
        row("50.00", mcc=4511, entry=None),
        row("200.00", mcc=None),
    ]
    found = features(spark, *rows)
    assert (found.groceries_90d, found.dining_90d, found.travel_90d) == (1, 1, 1)
    assert (found.large_90d, found.online_90d) == (2, 1)
    assert (found.groceries_share_90d, found.large_share_90d) == (0.25, 0.5)
    assert (found.travel_share_90d, found.online_share_90d) == (0.25, 0.25)
