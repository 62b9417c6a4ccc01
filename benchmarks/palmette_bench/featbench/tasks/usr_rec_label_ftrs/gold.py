from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known

HORIZON = timedelta(days=14)


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """One row per user with a recommendation in the window."""
    closed, redeemed = F.col("closed_90d"), F.col("redeemed_90d")
    features = (
        shown(inputs["recommendations"], cutoff)
        .withColumn("redeemed_share_90d", ratio(redeemed, closed))
        .withColumn("redeemed_score_90d", ratio(redeemed + 1, closed + 5))
    )
    return publish(features, cutoff, GRAIN, COLUMNS)


def shown(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Recommendations of a user; a label is known when the two weeks that it is about are over."""
    days = F.floor(days_before(cutoff, F.max("shown_at")))
    return (
        known(rows, cutoff, "shown_at", days=90)
        .withColumn("is_closed", F.col("shown_at") < F.lit(cutoff - HORIZON))
        .groupBy("user_id")
        .agg(
            F.count("*").alias("shown_90d"),
            F.count_if(~F.col("is_closed")).alias("open_14d"),
            F.count_if("is_closed").alias("closed_90d"),
            F.count_if(F.col("is_closed") & F.col("redeemed")).alias("redeemed_90d"),
            days.alias("days_since_shown_90d"),
        )
    )
