"""Where a user pays by card: mean vectors of the merchants, and how settled the habits are.

Grain: user_id
Inputs: card_transactions, merchant_embeddings
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
from recsys_features.lib.vectors import mean_vector, weighted_vector
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "purchases_90d": "bigint",
    "merchants_90d": "bigint",
    "vectors_90d": "bigint",
    "merchant_vector_90d": "array<float>",
    "purchases_30d": "bigint",
    "merchant_vector_30d": "array<float>",
    "recent_vector": "array<float>",
    "vector_share_90d": "double",
    "variety_90d": "double",
    "recent_share": "double",
}
COUNTS = [
    "purchases_90d",
    "merchants_90d",
    "vectors_90d",
    "purchases_30d",
]
HALF_LIFE_DAYS = 30


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user who has ever paid by card."""
    rows = purchases(inputs["card_transactions"], inputs["merchant_embeddings"])
    purchases_90d = F.col("purchases_90d")
    features = (
        ever(rows, cutoff)
        .join(quarter(rows, cutoff), on="user_id", how="left")
        .join(month(rows, cutoff), on="user_id", how="left")
        .withColumn("vector_share_90d", ratio(F.col("vectors_90d"), purchases_90d))
        .withColumn("variety_90d", ratio(F.col("merchants_90d"), purchases_90d))
        .withColumn(
            "recent_share", ratio(F.coalesce("purchases_30d", F.lit(0)), purchases_90d)
        )
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def purchases(rows: DataFrame, embeddings: DataFrame) -> DataFrame:
    """Purchases with the vector of the merchant whose key ends the descriptor."""
    key = F.get(F.split("descriptor", r"\*"), F.lit(2))
    vectors = embeddings.select("merchant_key", "vector")
    return rows.withColumn("merchant_key", key).join(vectors, on="merchant_key", how="left")


def ever(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """All purchases; one that is 30 days older counts half."""
    halves = days_before(cutoff, F.col("authorised_at")) / HALF_LIFE_DAYS
    return (
        known(rows, cutoff, "authorised_at", "posted_at")
        .withColumn("weight", F.pow(F.lit(0.5), halves))
        .groupBy("user_id")
        .agg(weighted_vector("vector", "weight").alias("recent_vector"))
    )


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window."""
    recent = known(rows, cutoff, "authorised_at", "posted_at", days=90)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("purchases_90d"),
        F.count_distinct("merchant_key").alias("merchants_90d"),
        F.count("vector").alias("vectors_90d"),
        mean_vector("vector").alias("merchant_vector_90d"),
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the shorter window."""
    recent = known(rows, cutoff, "authorised_at", "posted_at", days=30)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("purchases_30d"),
        mean_vector("vector").alias("merchant_vector_30d"),
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
