"""The tier of every user, and what the user has redeemed in the last 90 days.

Grain: user_id
Inputs: users, user_tiers, redemptions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "region": "string",
    "tier": "string",
    "membership_days": "int",
    "redemptions_90d": "bigint",
    "amount_90d": "decimal(18,2)",
}
COUNTS = [
    "redemptions_90d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user, active or not."""
    features = (
        inputs["users"]
        .join(tiers(inputs["user_tiers"], cutoff), on="user_id", how="left")
        .join(redeemed(inputs["redemptions"], cutoff), on="user_id", how="left")
        .withColumn("membership_days", F.date_diff(F.lit(cutoff), F.col("joined_on")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def tiers(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The tier that held just before the cut-off."""
    until = F.coalesce(F.col("valid_to"), F.lit(cutoff))
    held = (F.col("valid_from") < F.lit(cutoff)) & (until >= F.lit(cutoff))
    return rows.where(held).select("user_id", "tier")


def redeemed(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of a user on any offer."""
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=90)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .groupBy("user_id")
        .agg(F.count("*").alias("redemptions_90d"), F.sum("amount").alias("amount_90d"))
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
