from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known

HOUR = 3_600_000_000
VISIT_HOURS, RETURN_HOURS = 6, 168


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user who was there in the longer window."""
    rows = browsing(inputs["category_interactions"], cutoff)
    events_per_visit = ratio(F.col("events_60d"), F.col("visits_60d"))
    features = (
        two_months(rows, cutoff)
        .join(week(rows, cutoff), on="user_id", how="left")
        .withColumn("events_per_visit_60d", events_per_visit)
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def browsing(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """All known events of a user, each with its visit and the time since the one before it."""
    ordered = Window.partitionBy("user_id").orderBy("at", "event_id")
    before = F.lag("at").over(ordered)
    pause = (F.unix_micros("at") - F.unix_micros(before)) / F.lit(HOUR)
    timed = rows.withColumn("at", F.timestamp_millis("at_ms"))
    return (
        known(timed, cutoff, "at", "loaded_at")
        .where(F.col("user_id").isNotNull())
        .withColumn("pause", pause)
        .withColumn("nights", F.date_diff("at", before))
        .withColumn("visit", F.count_if(F.col("pause") >= VISIT_HOURS).over(ordered))
    )


def two_months(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window; a visit or a pause may have begun before it."""
    return (
        known(rows, cutoff, "at", days=60)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("events_60d"),
            F.count_distinct("visit").alias("visits_60d"),
            F.count_distinct(F.to_date("at")).alias("days_60d"),
            F.count_if(F.col("nights") == 1).alias("days_in_a_row_60d"),
            F.count_if(F.col("pause") >= RETURN_HOURS).alias("returns_60d"),
            F.max("pause").alias("longest_pause_60d"),
            days_before(cutoff, F.max("at")).alias("days_since_event_60d"),
        )
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Visits of the last week."""
    recent = known(rows, cutoff, "at", days=7)
    return recent.groupBy("user_id").agg(F.count_distinct("visit").alias("visits_7d"))
