"""Where an offer is met: the mean of the merchant vectors of its interactions.

Grain: offer_id
Inputs: offer_interactions, merchant_embeddings
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.lib.vectors import mean_vector, weighted_vector
from recsys_features.settings import ViewSettings

GRAIN = ["offer_id"]
COLUMNS = {
    "interactions_30d": "bigint",
    "merchants_30d": "bigint",
    "vectors_30d": "bigint",
    "dwell_seconds_30d": "double",
    "dwell_vector_30d": "array<float>",
    "views_30d": "bigint",
    "viewed_merchants_30d": "bigint",
    "viewed_vector_30d": "array<float>",
    "clicks_30d": "bigint",
    "clicked_merchants_30d": "bigint",
    "clicked_vector_30d": "array<float>",
    "vector_share_30d": "double",
    "click_rate_30d": "double",
    "clicked_merchant_share_30d": "double",
    "dwell_per_interaction_30d": "double",
}
COUNTS = [
    "views_30d",
    "viewed_merchants_30d",
    "clicks_30d",
    "clicked_merchants_30d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer that was met on the page of a merchant."""
    rows = interactions(inputs["offer_interactions"], inputs["merchant_embeddings"], cutoff)
    features = (
        met(rows)
        .join(viewed(rows), on="offer_id", how="left")
        .join(clicked(rows), on="offer_id", how="left")
        .withColumn("vector_share_30d", ratio(F.col("vectors_30d"), F.col("interactions_30d")))
        .withColumn(
            "click_rate_30d", ratio(F.coalesce("clicks_30d", F.lit(0)), F.col("views_30d"))
        )
        .withColumn(
            "clicked_merchant_share_30d",
            ratio(F.coalesce("clicked_merchants_30d", F.lit(0)), F.col("merchants_30d")),
        )
        .withColumn(
            "dwell_per_interaction_30d",
            ratio(F.col("dwell_seconds_30d"), F.col("interactions_30d")),
        )
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def interactions(rows: DataFrame, embeddings: DataFrame, cutoff: datetime) -> DataFrame:
    """Interactions on pages of merchants, each with the merchant's vector where there is one."""
    return (
        known(rows, cutoff, "occurred_at", "loaded_at", days=30, partition="day")
        .where(F.col("merchant_key").isNotNull())
        .withColumn("dwell_ms", F.col("dwell_ms").try_cast("int"))
        .withColumn("dwell_seconds", F.col("dwell_ms") / 1000)
        .join(embeddings.select("merchant_key", "vector"), on="merchant_key", how="left")
    )


def met(rows: DataFrame) -> DataFrame:
    """Of all interactions; the vectors weighted by how long users stayed."""
    return rows.groupBy("offer_id").agg(
        F.count("*").alias("interactions_30d"),
        F.count_distinct("merchant_key").alias("merchants_30d"),
        F.count("vector").alias("vectors_30d"),
        F.sum("dwell_seconds").alias("dwell_seconds_30d"),
        weighted_vector("vector", "dwell_seconds").alias("dwell_vector_30d"),
    )


def viewed(rows: DataFrame) -> DataFrame:
    """Of views."""
    views = rows.where(F.col("kind") == "view")
    return views.groupBy("offer_id").agg(
        F.count("*").alias("views_30d"),
        F.count_distinct("merchant_key").alias("viewed_merchants_30d"),
        mean_vector("vector").alias("viewed_vector_30d"),
    )


def clicked(rows: DataFrame) -> DataFrame:
    """Of clicks."""
    clicks = rows.where(F.col("kind") == "click")
    return clicks.groupBy("offer_id").agg(
        F.count("*").alias("clicks_30d"),
        F.count_distinct("merchant_key").alias("clicked_merchants_30d"),
        mean_vector("vector").alias("clicked_vector_30d"),
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
