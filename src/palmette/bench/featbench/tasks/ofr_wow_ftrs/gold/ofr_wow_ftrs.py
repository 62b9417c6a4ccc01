"""What became of an offer from one week to the next.

Grain: offer_id
Inputs: offer_interactions, redemptions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["offer_id"]
COLUMNS = {
    "clicks_7d": "bigint",
    "clicks_28d": "bigint",
    "clicks_prior_7d": "bigint",
    "click_change_7d": "double",
    "click_trend_28d": "double",
    "redemptions_7d": "bigint",
    "redemptions_prior_7d": "bigint",
    "redemption_change_7d": "double",
    "amount_7d": "decimal(18,2)",
    "amount_prior_7d": "decimal(18,2)",
    "amount_change_7d": "double",
}
COUNTS = [
    "clicks_7d",
    "clicks_28d",
    "clicks_prior_7d",
    "redemptions_7d",
    "redemptions_prior_7d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer that was clicked in four weeks, or redeemed in two."""
    features = (
        clicked(inputs["offer_interactions"], cutoff)
        .join(redeemed(inputs["redemptions"], cutoff), on="offer_id", how="full")
        .withColumn("click_change_7d", change("clicks_7d", "clicks_prior_7d"))
        .withColumn("click_trend_28d", ratio(4 * F.col("clicks_7d"), F.col("clicks_28d")))
        .withColumn("redemption_change_7d", change("redemptions_7d", "redemptions_prior_7d"))
        .withColumn("amount_change_7d", change("amount_7d", "amount_prior_7d"))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def change(now: str, before: str) -> Column:
    """By which part of what it was a number has grown; null where it was nothing."""
    return ratio(F.col(now) - F.col(before), F.col(before))


def clicked(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Clicks of four weeks; one that is delivered twice counts in the week of its last delivery."""
    clicks = (
        known(rows, cutoff, "occurred_at", "loaded_at", days=28, partition="day")
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") == "click")
        .groupBy("offer_id", "interaction_id")
        .agg(F.max("occurred_at").alias("occurred_at"))
    )
    this_week = F.col("occurred_at") >= F.lit(cutoff - timedelta(days=7))
    two_weeks = F.col("occurred_at") >= F.lit(cutoff - timedelta(days=14))
    return clicks.groupBy("offer_id").agg(
        F.count_if(this_week).alias("clicks_7d"),
        F.count_if(two_weeks & ~this_week).alias("clicks_prior_7d"),
        F.count("*").alias("clicks_28d"),
    )


def redeemed(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of this week and of the one before; an amount that cannot be read is missing."""
    this_week = F.col("redeemed_at") >= F.lit(cutoff - timedelta(days=7))
    amount = F.col("amount")
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=14)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .groupBy("offer_id")
        .agg(
            F.count_if(this_week).alias("redemptions_7d"),
            F.count_if(~this_week).alias("redemptions_prior_7d"),
            F.sum(F.when(this_week, amount)).alias("amount_7d"),
            F.sum(F.when(~this_week, amount)).alias("amount_prior_7d"),
        )
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
