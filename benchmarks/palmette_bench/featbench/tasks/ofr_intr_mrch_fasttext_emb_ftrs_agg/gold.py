from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import known
from recsys_features.lib.vectors import mean_vector, weighted_vector


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
