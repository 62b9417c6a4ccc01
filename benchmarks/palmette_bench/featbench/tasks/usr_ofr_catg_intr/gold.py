from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user and category that the user has browsed in the window."""
    browsed = (
        visits(inputs["category_interactions"], cutoff)
        .groupBy(*GRAIN)
        .agg(
            F.count("*").alias("events_60d"),
            F.count_if(F.col("kind") == "click").alias("clicks_60d"),
            F.count_if(F.col("device") == "mobile").alias("mobile_events_60d"),
            F.count_if(F.col("visit") == "long").alias("long_visits_60d"),
            F.count_distinct("day").alias("days_60d"),
            F.count_distinct("campaign").alias("campaigns_60d"),
            F.avg("seconds").alias("average_seconds_60d"),
            F.max("price_seen").alias("highest_price_60d"),
            F.max("at").alias("last_at"),
        )
    )
    features = browsed.withColumn(
        "click_rate_60d", ratio(F.col("clicks_60d"), F.col("events_60d"))
    ).withColumn("days_since_event_60d", F.floor(days_before(cutoff, F.col("last_at"))))
    return publish(features, cutoff, GRAIN, COLUMNS)


def visits(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Browsing of logged-in users within a category; searches have none of their own."""
    timed = rows.withColumn("at", F.timestamp_millis("at_ms"))
    return (
        known(timed, cutoff, "at", "loaded_at", days=60)
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") != "search")
        .where(F.col("category").isNotNull())
        .withColumn("campaign", F.get(F.split("page", "/"), F.lit(1)))
        .replace({"ios": "mobile", "android": "mobile"}, subset=["device"])
        .withColumn("seconds", F.col("seconds").try_cast("int"))
        .withColumn("price_seen", F.col("price_seen").try_cast("decimal(12,2)"))
        .withColumn("day", F.to_date("at"))
        .withColumn("visit", F.when(F.col("seconds") >= 60, "long").otherwise("short"))
    )
