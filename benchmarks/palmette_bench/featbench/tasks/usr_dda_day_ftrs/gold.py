from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a booking in the longest window."""
    rows = bookings(inputs["account_transactions"])
    whole = F.col("outflow_28d")
    features = (
        quarter(rows, cutoff)
        .join(month(rows, cutoff), on="user_id", how="left")
        .join(week(rows, cutoff), on="user_id", how="left")
        .join(day(rows, cutoff), on="user_id", how="left")
        .withColumn("week_share_28d", ratio(F.col("outflow_7d"), whole))
        .withColumn("weekend_share_28d", ratio(F.col("weekend_outflow_28d"), whole))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def bookings(rows: DataFrame) -> DataFrame:
    """Bookings of a known kind; each happens at the midnight of its day."""
    return (
        rows.where(F.col("kind").isNotNull())
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("outflow", F.greatest(-F.col("amount"), F.lit(0)))
        .withColumn("is_weekend", F.weekday("booked_on") >= 5)
    )


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longest window."""
    days = days_before(cutoff, F.to_timestamp(F.max("booked_on")))
    return (
        known(rows, cutoff, "booked_on", days=90)
        .groupBy("user_id")
        .agg(
            F.count_if(F.dayofmonth("booked_on") <= 3).alias("first_days_bookings_90d"),
            F.floor(days).alias("days_since_booking_90d"),
        )
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Four weeks, and their weekends."""
    recent = known(rows, cutoff, "booked_on", days=28)
    return recent.groupBy("user_id").agg(
        F.count_distinct("booked_on").alias("booking_days_28d"),
        F.count_if("is_weekend").alias("weekend_bookings_28d"),
        F.sum("outflow").alias("outflow_28d"),
        F.sum(F.when(F.col("is_weekend"), F.col("outflow"))).alias("weekend_outflow_28d"),
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Bookings and outflow of a week."""
    recent = known(rows, cutoff, "booked_on", days=7)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("bookings_7d"), F.sum("outflow").alias("outflow_7d")
    )


def day(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Bookings whose midnight lies in the last 24 hours."""
    recent = known(rows, cutoff, "booked_on", days=1)
    return recent.groupBy("user_id").agg(F.count("*").alias("bookings_1d"))
