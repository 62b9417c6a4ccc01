from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio
from recsys_features.lib.times import known

ZONE = "Europe/Lisbon"


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with an action in the longer window."""
    rows = actions(inputs["offer_interactions"], cutoff)
    whole = F.col("actions_28d")
    features = (
        month(rows)
        .join(week(rows, cutoff), on="user_id", how="left")
        .withColumn("evening_share_28d", ratio(F.col("evening_actions_28d"), whole))
        .withColumn("weekend_share_28d", ratio(F.col("weekend_actions_28d"), whole))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def days_ago(cutoff: datetime, days: int) -> datetime:
    """The same time of the day on an earlier day, by the local clock."""
    local = cutoff.astimezone(ZoneInfo(ZONE)).replace(tzinfo=None) - timedelta(days=days)
    return local.replace(tzinfo=ZoneInfo(ZONE)).astimezone(UTC)


def since(rows: DataFrame, start: datetime) -> DataFrame:
    """Actions from an instant on; partitions are days of UTC."""
    in_time = F.col("occurred_at") >= F.lit(start)
    return rows.where(in_time & (F.col("day") >= F.lit(start.date())))


def actions(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """What logged-in users did, other than waving offers away, by the local clock."""
    seen = known(rows, cutoff, "occurred_at", "loaded_at")
    hour = F.col("hour")
    part = F.when(hour < 6, "night").when(hour < 12, "morning").when(hour < 18, "afternoon")
    return (
        since(seen, days_ago(cutoff, 28))
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") != "dismiss")
        .withColumn("local", F.from_utc_timestamp("occurred_at", ZONE))
        .withColumn("local_day", F.to_date("local"))
        .withColumn("hour", F.hour("local"))
        .withColumn("part", part.otherwise("evening"))
        .withColumn("is_weekend", F.weekday("local") >= 5)
    )


def month(rows: DataFrame) -> DataFrame:
    """Features of four weeks."""
    return rows.groupBy("user_id").agg(
        F.count_distinct("interaction_id").alias("actions_28d"),
        distinct_where("interaction_id", F.col("part") == "night").alias("night_actions_28d"),
        distinct_where("interaction_id", F.col("part") == "morning").alias("morning_actions_28d"),
        distinct_where("interaction_id", F.col("part") == "evening").alias("evening_actions_28d"),
        distinct_where("interaction_id", F.col("is_weekend")).alias("weekend_actions_28d"),
        F.count_distinct("local_day").alias("active_days_28d"),
        F.count_distinct("hour").alias("active_hours_28d"),
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of a week."""
    at_leisure = F.col("is_weekend") & (F.col("part") == "evening")
    return (
        since(rows, days_ago(cutoff, 7))
        .groupBy("user_id")
        .agg(
            F.count_distinct("interaction_id").alias("actions_7d"),
            F.count_distinct("local_day").alias("active_days_7d"),
            distinct_where("interaction_id", at_leisure).alias("weekend_evening_actions_7d"),
        )
    )
