"""The tier of every user at the cut-off, since when, and how often it has moved.

Grain: user_id
Inputs: users, user_tiers, tier_changes
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import days_before, known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "tier": "string",
    "tier_days": "int",
    "moves_365d": "bigint",
    "moves_90d": "bigint",
    "moves_to_gold_365d": "bigint",
    "tier_before_365d": "string",
    "days_since_move_365d": "int",
}
COUNTS = [
    "moves_365d",
    "moves_90d",
    "moves_to_gold_365d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user, whether the tier has moved or not."""
    rows = moves(inputs["tier_changes"], cutoff)
    features = (
        inputs["users"]
        .join(held(inputs["user_tiers"], cutoff), on="user_id", how="left")
        .join(year(rows, cutoff), on="user_id", how="left")
        .join(quarter(rows, cutoff), on="user_id", how="left")
        .withColumn("tier_days", F.date_diff(F.lit(cutoff), F.col("valid_from")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def held(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The tier that held just before the cut-off."""
    until = F.coalesce(F.col("valid_to"), F.lit(cutoff))
    holds = (F.col("valid_from") < F.lit(cutoff)) & (until >= F.lit(cutoff))
    return rows.where(holds).select("user_id", "tier", "valid_from")


def moves(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Changes to another tier; the first tier, and the same one again, are none."""
    before = F.lag("tier").over(Window.partitionBy("user_id").orderBy("valid_from"))
    changes = known(rows, cutoff, "valid_from").withColumn("tier_before", before)
    return changes.where(F.col("tier") != F.col("tier_before"))


def year(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window."""
    days = days_before(cutoff, F.max("valid_from"))
    return (
        known(rows, cutoff, "valid_from", days=365)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("moves_365d"),
            F.count_if(F.col("tier") == "gold").alias("moves_to_gold_365d"),
            F.max_by("tier_before", "valid_from").alias("tier_before_365d"),
            F.floor(days).alias("days_since_move_365d"),
        )
    )


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Moves of the shorter window."""
    recent = known(rows, cutoff, "valid_from", days=90)
    return recent.groupBy("user_id").agg(F.count("*").alias("moves_90d"))


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
