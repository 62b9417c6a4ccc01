"""How a user has met an offer in the last 30 days, beside all that the user did.

Grain: user_id, offer_id
Inputs: offer_interactions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id", "offer_id"]
COLUMNS = {
    "views_30d": "bigint",
    "clicks_30d": "bigint",
    "home_interactions_30d": "bigint",
    "long_interactions_30d": "bigint",
    "longest_dwell_30d": "int",
    "user_clicks_30d": "bigint",
    "click_rate_30d": "double",
    "click_share_30d": "double",
}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user and offer that have met in the window."""
    rows = interactions(inputs["offer_interactions"], cutoff)
    features = met(rows).join(clicked(rows), on="user_id", how="left")
    features = features.withColumn(
        "click_rate_30d", ratio(F.col("clicks_30d"), F.col("views_30d"))
    ).withColumn("click_share_30d", ratio(F.col("clicks_30d"), F.col("user_clicks_30d")))
    return publish(features, cutoff, GRAIN, COLUMNS)


def interactions(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """What users did that were logged in, other than waving offers away."""
    return (
        known(rows, cutoff, "occurred_at", "loaded_at", days=30, partition="day")
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") != "dismiss")
        .withColumn("surface", F.split_part("placement", F.lit("/"), F.lit(1)))
        .withColumn("dwell_ms", F.col("dwell_ms").try_cast("int"))
        .withColumn("attention", F.when(F.col("dwell_ms") >= 10_000, "long").otherwise("short"))
    )


def met(rows: DataFrame) -> DataFrame:
    """What happened between a user and an offer; a repeated delivery counts once."""
    return rows.groupBy(*GRAIN).agg(
        distinct_where("interaction_id", F.col("kind") == "view").alias("views_30d"),
        distinct_where("interaction_id", F.col("kind") == "click").alias("clicks_30d"),
        distinct_where("interaction_id", F.col("surface") == "home").alias("home_interactions_30d"),
        distinct_where("interaction_id", F.col("attention") == "long").alias(
            "long_interactions_30d"
        ),
        F.max("dwell_ms").alias("longest_dwell_30d"),
    )


def clicked(rows: DataFrame) -> DataFrame:
    """Clicks of a user on any offer."""
    clicks = distinct_where("interaction_id", F.col("kind") == "click")
    return rows.groupBy("user_id").agg(clicks.alias("user_clicks_30d"))


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
