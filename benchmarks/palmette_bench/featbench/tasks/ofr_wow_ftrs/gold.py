from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer that was clicked in four weeks, or redeemed in two."""
    features = (
        clicked(inputs["offer_interactions"], cutoff)
        .join(redeemed(inputs["redemptions"], cutoff), on="offer_id", how="full")
        .withColumn("click_change_7d", change("clicks_7d", "clicks_prior_7d"))
        .withColumn("click_trend_28d", ratio(4 * F.col("clicks_7d"), F.col("clicks_28d")))
        .withColumn("redemption_change_7d", change("redemptions_7d", "redemptions_prior_7d"))
        .withColumn("amount_change_7d", change("amount_7d", "amount_prior_7d"))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def change(now: str, before: str) -> Column:
    """By which part of what it was a number has grown; null where it was nothing."""
    return ratio(F.col(now) - F.col(before), F.col(before))


def clicked(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Clicks of four weeks; one that is delivered twice counts in the week of its last delivery."""
    clicks = (
        known(rows, cutoff, "occurred_at", "loaded_at", days=28, partition="day")
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") == "click")
        .groupBy("offer_id", "interaction_id")
        .agg(F.max("occurred_at").alias("occurred_at"))
    )
    this_week = F.col("occurred_at") >= F.lit(cutoff - timedelta(days=7))
    two_weeks = F.col("occurred_at") >= F.lit(cutoff - timedelta(days=14))
    return clicks.groupBy("offer_id").agg(
        F.count_if(this_week).alias("clicks_7d"),
        F.count_if(two_weeks & ~this_week).alias("clicks_prior_7d"),
        F.count("*").alias("clicks_28d"),
    )


def redeemed(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of this week and of the one before; an amount that cannot be read is missing."""
    this_week = F.col("redeemed_at") >= F.lit(cutoff - timedelta(days=7))
    amount = F.col("amount")
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=14)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .groupBy("offer_id")
        .agg(
            F.count_if(this_week).alias("redemptions_7d"),
            F.count_if(~this_week).alias("redemptions_prior_7d"),
            F.sum(F.when(this_week, amount)).alias("amount_7d"),
            F.sum(F.when(~this_week, amount)).alias("amount_prior_7d"),
        )
    )
