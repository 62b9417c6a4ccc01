from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio, with_day
from recsys_features.lib.times import known

HOUR = 3_600_000_000


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer with a redemption, with the day that ends at the cut-off."""
    rows = arrivals(inputs["redemptions"])
    since_load = F.unix_micros(F.lit(cutoff)) - F.unix_micros("loaded_last")
    features = (
        all_kept(rows, cutoff)
        .join(month(rows, cutoff), on="offer_id", how="left")
        .join(week(rows, cutoff), on="offer_id", how="left")
        .withColumn("hours_since_load_730d", since_load / F.lit(HOUR))
        .withColumn(
            "week_share_730d",
            ratio(F.coalesce("redemptions_7d", F.lit(0)), F.col("redemptions_730d")),
        )
    )
    return with_day(publish(features, cutoff, GRAIN, COLUMNS, COUNTS), cutoff, "feature_day")


def arrivals(rows: DataFrame) -> DataFrame:
    """Redemptions by how many hours after the purchase they were loaded."""
    delay = F.unix_micros("loaded_at") - F.unix_micros("redeemed_at")
    hours = F.col("delay_hours")
    arrival = F.when(hours < 1, "prompt").when(hours < 24, "slow").otherwise("late")
    return (
        rows.withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("delay_hours", delay / F.lit(HOUR))
        .withColumn("arrival", arrival)
    )


def all_kept(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of all rows that are kept."""
    kept = known(rows, cutoff, "redeemed_at", "loaded_at", days=730)
    return kept.groupBy("offer_id").agg(
        F.count("*").alias("redemptions_730d"), F.max("loaded_at").alias("loaded_last")
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """How late redemptions of four weeks were."""
    recent = known(rows, cutoff, "redeemed_at", "loaded_at", days=28)
    prompt = F.col("arrival") == "prompt"
    return recent.groupBy("offer_id").agg(
        F.count_if(F.col("arrival") == "late").alias("late_redemptions_28d"),
        F.avg(prompt.cast("int")).alias("prompt_share_28d"),
        F.percentile("delay_hours", 0.5).alias("median_delay_28d"),
        F.max("delay_hours").alias("longest_delay_28d"),
        F.sum("amount").alias("amount_28d"),
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of a week; more of them will arrive."""
    recent = known(rows, cutoff, "redeemed_at", "loaded_at", days=7)
    return recent.groupBy("offer_id").agg(
        F.count("*").alias("redemptions_7d"),
        F.count_if(F.col("arrival") == "prompt").alias("prompt_redemptions_7d"),
    )
