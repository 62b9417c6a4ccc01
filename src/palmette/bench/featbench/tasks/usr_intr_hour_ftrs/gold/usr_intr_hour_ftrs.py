"""At which hours and on which days a user is active, by the clock of Lisbon.

Grain: user_id
Inputs: offer_interactions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "actions_28d": "bigint",
    "night_actions_28d": "bigint",
    "morning_actions_28d": "bigint",
    "evening_actions_28d": "bigint",
    "weekend_actions_28d": "bigint",
    "active_days_28d": "bigint",
    "active_hours_28d": "bigint",
    "actions_7d": "bigint",
    "active_days_7d": "bigint",
    "weekend_evening_actions_7d": "bigint",
    "evening_share_28d": "double",
    "weekend_share_28d": "double",
}
COUNTS = [
    "actions_7d",
    "active_days_7d",
    "weekend_evening_actions_7d",
]
ZONE = "Europe/Lisbon"


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


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


def save(frame: DataFrame, settings: ViewSettings) -> None:
    """Writes the view."""
    overwrite(frame, settings.sink)


def run(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, help="YAML file of the view")
    parser.add_argument("--cutoff", required=True, help="ISO 8601; UTC without an offset")
    args = parser.parse_args(argv)
    cutoff = datetime.fromisoformat(args.cutoff)
    cutoff = cutoff if cutoff.tzinfo else cutoff.replace(tzinfo=UTC)

    settings = ViewSettings.load(args.settings)
    spark = session(settings.view)
    save(compute(read_inputs(spark, settings), cutoff), settings)


if __name__ == "__main__":
    run()
