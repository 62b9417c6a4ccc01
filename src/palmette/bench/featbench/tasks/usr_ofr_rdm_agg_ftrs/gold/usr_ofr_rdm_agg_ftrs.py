"""What a user has redeemed over all offers, in the last 180 and the last 30 days.

Grain: user_id
Inputs: redemptions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import days_before, known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "redemptions_180d": "bigint",
    "offers_180d": "bigint",
    "stores_180d": "bigint",
    "redemption_days_180d": "bigint",
    "amount_180d": "decimal(18,2)",
    "cashback_180d": "decimal(18,2)",
    "days_since_redemption_180d": "int",
    "redemptions_30d": "bigint",
    "amount_30d": "decimal(18,2)",
    "recent_share": "double",
    "cashback_rate_180d": "double",
}
COUNTS = [
    "redemptions_30d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a redemption in the longer window."""
    rows = redeemed(inputs["redemptions"])
    features = half_year(rows, cutoff).join(month(rows, cutoff), on="user_id", how="left")
    features = features.withColumn(
        "recent_share", ratio(F.col("amount_30d"), F.col("amount_180d"))
    ).withColumn("cashback_rate_180d", ratio(F.col("cashback_180d"), F.col("amount_180d")))
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def redeemed(rows: DataFrame) -> DataFrame:
    """Redemptions of something, with numbers instead of texts and the store instead of the till."""
    return (
        rows.withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("cashback", F.col("cashback").try_cast("decimal(12,2)"))
        .where(F.col("amount") > 0)
        .withColumn("store", F.split_part("till", F.lit("/"), F.lit(1)))
    )


def half_year(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window."""
    days = days_before(cutoff, F.max("redeemed_at"))
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=180)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("redemptions_180d"),
            F.count_distinct("offer_id").alias("offers_180d"),
            F.count_distinct("store").alias("stores_180d"),
            F.count_distinct(F.to_date("redeemed_at")).alias("redemption_days_180d"),
            F.sum("amount").alias("amount_180d"),
            F.sum("cashback").alias("cashback_180d"),
            F.floor(days).cast("int").alias("days_since_redemption_180d"),
        )
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the shorter window."""
    recent = known(rows, cutoff, "redeemed_at", "loaded_at", days=30)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("redemptions_30d"), F.sum("amount").alias("amount_30d")
    )


def save(frame: DataFrame, settings: ViewSettings) -> None:
    """Writes the view."""
    overwrite(frame, settings.sink)


def run(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, help="YAML file of the view")
    parser.add_argument("--cutoff", required=True, help="ISO 8601; UTC without an offset")
    args = parser.parse_args(argv)
    cutoff = datetime.fromisoformat(args.cutoff)
    cutoff = cutoff if cutoff.tzinfo else cutoff.replace(tzinfo=UTC)

    settings = ViewSettings.load(args.settings)
    spark = session(settings.view)
    save(compute(read_inputs(spark, settings), cutoff), settings)


if __name__ == "__main__":
    run()
