from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user and offer with a redemption in the window."""
    rows = (
        known(inputs["redemptions"], cutoff, "redeemed_at", "loaded_at", days=90)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("day", F.to_date("redeemed_at"))
    )
    redeemed = rows.groupBy(*GRAIN).agg(
        F.count("*").alias("redemptions_90d"),
        F.sum("amount").alias("redeemed_amount_90d"),
        F.avg("amount").alias("average_amount_90d"),
        F.count_distinct("day").alias("redemption_days_90d"),
        F.max("redeemed_at").alias("last_redeemed_at"),
    )
    days = F.floor(days_before(cutoff, F.col("last_redeemed_at"))).cast("int")
    features = redeemed.withColumn("days_since_redemption_90d", days)
    return publish(features, cutoff, GRAIN, COLUMNS)
