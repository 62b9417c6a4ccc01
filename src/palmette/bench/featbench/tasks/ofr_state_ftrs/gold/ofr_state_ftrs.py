"""The state of every offer as it was known at the end of a day, and how old it was.

Grain: offer_id
Inputs: offers, offer_states
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, with_day
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["offer_id"]
COLUMNS = {
    "category": "string",
    "status": "string",
    "budget_left": "decimal(12,2)",
    "state_age_days": "int",
    "days_open": "int",
    "days_left": "int",
    "is_open": "boolean",
}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer, with the day that ends at the cut-off."""
    now = F.lit(cutoff)
    on_its_days = (F.col("days_open") > 0) & (F.col("days_left") >= 0)
    features = (
        inputs["offers"]
        .join(newest(inputs["offer_states"], cutoff), on="offer_id", how="left")
        .withColumn("state_age_days", F.date_diff(now, F.col("taken_at")))
        .withColumn("days_open", F.date_diff(now, F.col("starts_on")))
        .withColumn("days_left", F.date_diff(F.col("ends_on"), now))
        .withColumn("is_open", F.coalesce((F.col("status") == "live") & on_its_days, F.lit(False)))
    )
    return with_day(publish(features, cutoff, GRAIN, COLUMNS), cutoff, "feature_day")


def newest(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The newest state of each offer, missing values and all."""
    state = F.max(F.struct("taken_at", "status", "budget_left")).alias("state")
    states = known(rows, cutoff, "taken_at").groupBy("offer_id").agg(state)
    return states.select("offer_id", "state.*")


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
