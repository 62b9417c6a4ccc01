"""How a user has redeemed an offer in the last 90 days.

Grain: user_id, offer_id
Inputs: redemptions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import days_before, known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id", "offer_id"]
COLUMNS = {
    "redemptions_90d": "bigint",
    "redeemed_amount_90d": "decimal(18,2)",
    "average_amount_90d": "double",
    "redemption_days_90d": "bigint",
    "days_since_redemption_90d": "int",
}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user and offer with a redemption in the window."""
    rows = (
        known(inputs["redemptions"], cutoff, "redeemed_at", "loaded_at", days=90)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("day", F.to_date("redeemed_at"))
    )
    redeemed = rows.groupBy(*GRAIN).agg(
        F.count("*").alias("redemptions_90d"),
        F.sum("amount").alias("redeemed_amount_90d"),
        F.avg("amount").alias("average_amount_90d"),
        F.count_distinct("day").alias("redemption_days_90d"),
        F.max("redeemed_at").alias("last_redeemed_at"),
    )
    days = F.floor(days_before(cutoff, F.col("last_redeemed_at"))).cast("int")
    features = redeemed.withColumn("days_since_redemption_90d", days)
    return publish(features, cutoff, GRAIN, COLUMNS)


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
