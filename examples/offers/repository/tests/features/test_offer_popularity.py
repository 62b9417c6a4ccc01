"""Offer popularity: every offer has a row, and only visible redemptions count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from offers.features.offer_popularity import build_features

AS_OF = datetime(2025, 3, 1, tzinfo=UTC)
REDEMPTIONS = (
    "redemption_id bigint, user_id bigint, offer_id bigint, amount decimal(12,2), "
    "redeemed_at timestamp, available_at timestamp"
)
OUTPUT = (
    "offer_id bigint, as_of timestamp, redemptions_30d bigint, redeemers_30d bigint, "
    "redeemed_amount_30d decimal(18,2), largest_amount_30d decimal(12,2)"
)


def test_counts_redeemers_once_and_keeps_offers_without_redemptions(spark: SparkSession) -> None:
    day = timedelta(days=1)
    rows = [
        (1, 1, 10, Decimal("5.00"), AS_OF - day, AS_OF - day),
        (2, 1, 10, Decimal("7.50"), AS_OF - 30 * day, AS_OF - day),
        (3, 2, 10, Decimal("9.00"), AS_OF - 31 * day, AS_OF - day),
        (4, 2, 10, Decimal("9.00"), AS_OF - day, AS_OF),
        (5, 2, 10, Decimal("9.00"), AS_OF, AS_OF),
    ]
    tables = {
        "offers": spark.createDataFrame([(10,), (11,)], "offer_id bigint"),
        "redemptions": spark.createDataFrame(rows, REDEMPTIONS),
    }
    expected = [
        (10, AS_OF, 2, 1, Decimal("12.50"), Decimal("7.50")),
        (11, AS_OF, 0, 0, None, None),
    ]
    assertDataFrameEqual(build_features(tables, AS_OF), spark.createDataFrame(expected, OUTPUT))
