from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio
from recsys_features.lib.times import known


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
