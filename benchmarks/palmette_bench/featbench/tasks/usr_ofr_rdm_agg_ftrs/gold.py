from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a redemption in the longer window."""
    rows = redeemed(inputs["redemptions"])
    features = half_year(rows, cutoff).join(month(rows, cutoff), on="user_id", how="left")
    features = features.withColumn(
        "recent_share", ratio(F.col("amount_30d"), F.col("amount_180d"))
    ).withColumn("cashback_rate_180d", ratio(F.col("cashback_180d"), F.col("amount_180d")))
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def redeemed(rows: DataFrame) -> DataFrame:
    """Redemptions of something, with numbers instead of texts and the store instead of the till."""
    return (
        rows.withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("cashback", F.col("cashback").try_cast("decimal(12,2)"))
        .where(F.col("amount") > 0)
        .withColumn("store", F.split_part("till", F.lit("/"), F.lit(1)))
    )


def half_year(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window."""
    days = days_before(cutoff, F.max("redeemed_at"))
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=180)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("redemptions_180d"),
            F.count_distinct("offer_id").alias("offers_180d"),
            F.count_distinct("store").alias("stores_180d"),
            F.count_distinct(F.to_date("redeemed_at")).alias("redemption_days_180d"),
            F.sum("amount").alias("amount_180d"),
            F.sum("cashback").alias("cashback_180d"),
            F.floor(days).cast("int").alias("days_since_redemption_180d"),
        )
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the shorter window."""
    recent = known(rows, cutoff, "redeemed_at", "loaded_at", days=30)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("redemptions_30d"), F.sum("amount").alias("amount_30d")
    )
