from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user who has redeemed or booked something in the window."""
    tiers = inputs["user_tiers"]
    now = current(tiers, cutoff)
    redemptions = redeemed(inputs["redemptions"], tiers, cutoff)
    share = ratio(F.col("gold_redemptions_120d"), F.col("redemptions_120d"))
    features = (
        by_tier(redemptions.join(now, on="user_id", how="left"))
        .join(booked(inputs["account_transactions"], tiers, cutoff), on="user_id", how="full")
        .join(now, on="user_id", how="left")
        .withColumn("gold_share_120d", share)
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def current(tiers: DataFrame, cutoff: datetime) -> DataFrame:
    """The tier just before the cut-off."""
    at = F.lit(cutoff)
    held = (F.col("valid_from") < at) & (F.coalesce("valid_to", at) >= at)
    return tiers.where(held).select("user_id", "tier")


def with_tier(rows: DataFrame, tiers: DataFrame, at: Column) -> DataFrame:
    """Events, each with the tier just before it and since when that was held."""
    states = tiers.select(
        F.col("user_id").alias("holder"),
        F.col("tier").alias("tier_then"),
        F.col("valid_from").alias("held_from"),
        F.col("valid_to").alias("held_to"),
    )
    held = (F.col("held_from") < at) & (F.coalesce("held_to", at) >= at)
    return rows.join(states, on=(F.col("user_id") == F.col("holder")) & held, how="left")


def redeemed(rows: DataFrame, tiers: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of something, with their tiers."""
    redemptions = (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=120)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .where(F.col("amount") > 0)
    )
    return with_tier(redemptions, tiers, F.col("redeemed_at")).withColumn(
        "held_days", F.date_diff("redeemed_at", "held_from")
    )


def booked(rows: DataFrame, tiers: DataFrame, cutoff: datetime) -> DataFrame:
    """Bookings of a user; a booking happens at the midnight of its day, as changes of tiers do."""
    bookings = known(rows, cutoff, "booked_on", days=120)
    tiered = with_tier(bookings, tiers, F.to_timestamp("booked_on"))
    return tiered.groupBy("user_id").agg(
        F.count("*").alias("bookings_120d"),
        F.count_if(F.col("tier_then") == "basic").alias("basic_bookings_120d"),
    )


def by_tier(rows: DataFrame) -> DataFrame:
    """Redemptions of a user, beside `tier`, the one that the user has now."""
    then = F.col("tier_then")
    order = F.when(then.isNotNull(), F.struct("redeemed_at", "redemption_id"))
    return rows.groupBy("user_id").agg(
        F.count("*").alias("redemptions_120d"),
        F.count_if(then == "gold").alias("gold_redemptions_120d"),
        *(amount_in(tier).alias(f"{tier}_amount_120d") for tier in ("gold", "silver", "basic")),
        F.count_distinct("tier_then").alias("tiers_120d"),
        F.avg((then == F.col("tier")).cast("int")).alias("same_tier_share_120d"),
        F.min("held_days").alias("soonest_days_120d"),
        F.max_by("tier_then", order).alias("last_tier_120d"),
    )


def amount_in(tier: str) -> Column:
    """Aggregate: the amount that was redeemed in a tier; null where nothing was."""
    return F.sum(F.when(F.col("tier_then") == tier, F.col("amount")))
