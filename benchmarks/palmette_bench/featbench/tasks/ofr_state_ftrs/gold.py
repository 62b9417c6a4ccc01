from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, with_day
from recsys_features.lib.times import known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer, with the day that ends at the cut-off."""
    now = F.lit(cutoff)
    on_its_days = (F.col("days_open") > 0) & (F.col("days_left") >= 0)
    features = (
        inputs["offers"]
        .join(newest(inputs["offer_states"], cutoff), on="offer_id", how="left")
        .withColumn("state_age_days", F.date_diff(now, F.col("taken_at")))
        .withColumn("days_open", F.date_diff(now, F.col("starts_on")))
        .withColumn("days_left", F.date_diff(F.col("ends_on"), now))
        .withColumn("is_open", F.coalesce((F.col("status") == "live") & on_its_days, F.lit(False)))
    )
    return with_day(publish(features, cutoff, GRAIN, COLUMNS), cutoff, "feature_day")


def newest(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The newest state of each offer, missing values and all."""
    state = F.max(F.struct("taken_at", "status", "budget_left")).alias("state")
    states = known(rows, cutoff, "taken_at").groupBy("offer_id").agg(state)
    return states.select("offer_id", "state.*")
