from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known
from recsys_features.lib.vectors import mean_vector, weighted_vector

HALF_LIFE_DAYS = 30


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
