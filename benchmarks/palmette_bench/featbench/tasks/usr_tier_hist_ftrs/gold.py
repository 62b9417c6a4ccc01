from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user, whether the tier has moved or not."""
    rows = moves(inputs["tier_changes"], cutoff)
    features = (
        inputs["users"]
        .join(held(inputs["user_tiers"], cutoff), on="user_id", how="left")
        .join(year(rows, cutoff), on="user_id", how="left")
        .join(quarter(rows, cutoff), on="user_id", how="left")
        .withColumn("tier_days", F.date_diff(F.lit(cutoff), F.col("valid_from")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def held(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The tier that held just before the cut-off."""
    until = F.coalesce(F.col("valid_to"), F.lit(cutoff))
    holds = (F.col("valid_from") < F.lit(cutoff)) & (until >= F.lit(cutoff))
    return rows.where(holds).select("user_id", "tier", "valid_from")


def moves(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Changes to another tier; the first tier, and the same one again, are none."""
    before = F.lag("tier").over(Window.partitionBy("user_id").orderBy("valid_from"))
    changes = known(rows, cutoff, "valid_from").withColumn("tier_before", before)
    return changes.where(F.col("tier") != F.col("tier_before"))


def year(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window."""
    days = days_before(cutoff, F.max("valid_from"))
    return (
        known(rows, cutoff, "valid_from", days=365)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("moves_365d"),
            F.count_if(F.col("tier") == "gold").alias("moves_to_gold_365d"),
            F.max_by("tier_before", "valid_from").alias("tier_before_365d"),
            F.floor(days).alias("days_since_move_365d"),
        )
    )


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Moves of the shorter window."""
    recent = known(rows, cutoff, "valid_from", days=90)
    return recent.groupBy("user_id").agg(F.count("*").alias("moves_90d"))
