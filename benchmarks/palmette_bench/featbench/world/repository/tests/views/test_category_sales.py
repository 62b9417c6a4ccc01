"""Category sales: offers of no category do not count, and amounts may be unreadable."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.category_sales import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_what_was_known_counts_for_its_category(spark: SparkSession) -> None:
    rows = [
        (7, "5.00", CUTOFF - 28 * DAY, CUTOFF - DAY),
        (7, "n/a", CUTOFF - DAY, CUTOFF - DAY),
        (7, "9.00", CUTOFF - DAY, CUTOFF),
        (8, "9.00", CUTOFF - DAY, CUTOFF - DAY),
    ]
    inputs = {
        "offers": spark.createDataFrame(
            [(7, "dining"), (8, None)], "offer_id int, category string"
        ),
        "redemptions": spark.createDataFrame(
            rows, "offer_id int, amount string, redeemed_at timestamp, loaded_at timestamp"
        ),
    }
    found = compute(inputs, CUTOFF).drop("as_of").collect()
    assert [tuple(row) for row in found] == [("dining", 2, Decimal("5.00"))]
