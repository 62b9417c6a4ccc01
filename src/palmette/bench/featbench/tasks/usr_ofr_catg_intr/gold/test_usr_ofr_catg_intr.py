"""Browsing: pages, epochs, numbers as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_ofr_catg_intr import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEMA = (
    "user_id bigint, category string, page string, kind string, device string, seconds string, "
    "price_seen string, at_ms bigint, loaded_at timestamp"
)


def row(category: str | None = "dining", kind: str = "browse", **changes) -> tuple:
    at = changes.get("at", CUTOFF - DAY)
    millis = int(at.timestamp() * 1000)
    device, seconds = changes.get("device", "web"), changes.get("seconds", "5")
    price, loaded = changes.get("price"), changes.get("loaded", at)
    user, page = changes.get("user", 1), changes.get("page", "list")
    return (user, category, page, kind, device, seconds, price, millis, loaded)


def features(spark: SparkSession, *rows: tuple) -> list[tuple]:
    frame = compute({"category_interactions": spark.createDataFrame(rows, SCHEMA)}, CUTOFF)
    return [tuple(one) for one in frame.drop("as_of").collect()]


def test_only_users_within_a_category_count(spark: SparkSession) -> None:
    rows = [row(), row(None), row(kind="search"), row(user=None)]
    assert features(spark, *rows) == [(1, "dining", 1, 0, 0, 0, 1, 0, 5.0, None, 0.0, 1)]


def test_campaigns_are_second_parts(spark: SparkSession) -> None:
    pages = ["list/spring", "item/spring/9", "list/sale", "list", None]
    [found] = features(spark, *(row(page=page) for page in pages))
    assert (found[2], found[7]) == (5, 2)


def test_the_window_is_half_open_and_late_rows_are_not_known(spark: SparkSession) -> None:
    rows = [
        row(at=CUTOFF - 60 * DAY, kind="click"),
        row(at=CUTOFF - 60 * DAY - timedelta(milliseconds=1)),
        row(at=CUTOFF),
        row(loaded=CUTOFF),
    ]
    assert features(spark, *rows) == [(1, "dining", 1, 1, 0, 0, 1, 0, 5.0, None, 1.0, 60)]


def test_texts_become_numbers_and_devices_become_one(spark: SparkSession) -> None:
    rows = [
        row(seconds="n/a", price="9.50", device="ios"),
        row(seconds="60", price="n/a", device="android"),
        row(seconds="20", device=None, at=CUTOFF - 2 * DAY),
    ]
    expected = (1, "dining", 3, 0, 2, 1, 2, 0, 40.0, Decimal("9.50"), 0.0, 1)
    assert features(spark, *rows) == [expected]
