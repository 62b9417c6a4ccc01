from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.times import known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user, active or not."""
    features = (
        inputs["users"]
        .join(tiers(inputs["user_tiers"], cutoff), on="user_id", how="left")
        .join(redeemed(inputs["redemptions"], cutoff), on="user_id", how="left")
        .withColumn("membership_days", F.date_diff(F.lit(cutoff), F.col("joined_on")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def tiers(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The tier that held just before the cut-off."""
    until = F.coalesce(F.col("valid_to"), F.lit(cutoff))
    held = (F.col("valid_from") < F.lit(cutoff)) & (until >= F.lit(cutoff))
    return rows.where(held).select("user_id", "tier")


def redeemed(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of a user on any offer."""
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=90)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .groupBy("user_id")
        .agg(F.count("*").alias("redemptions_90d"), F.sum("amount").alias("amount_90d"))
    )
