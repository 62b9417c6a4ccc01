from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a booking in the longest window."""
    rows = bookings(inputs["account_transactions"])
    saved = F.col("inflow_90d") - F.col("outflow_90d")
    features = (
        quarter(rows, cutoff)
        .join(month(rows, cutoff), on="user_id", how="left")
        .join(week(rows, cutoff), on="user_id", how="left")
        .withColumn("saving_rate_90d", ratio(saved, F.col("inflow_90d")))
        .withColumn("outflow_share_30d", ratio(F.col("outflow_30d"), F.col("outflow_90d")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def bookings(rows: DataFrame) -> DataFrame:
    """Bookings other than fees, by direction and size."""
    direction = F.when(F.col("amount") < 0, "out").when(F.col("amount") > 0, "in")
    size = F.when(F.abs("amount") >= 100, "large").otherwise("usual")
    return (
        rows.where(F.col("kind") != "fee")
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("direction", direction)
        .withColumn("size", size)
        .withColumn("inflow", F.greatest(F.col("amount"), F.lit(0)))
        .withColumn("outflow", F.greatest(-F.col("amount"), F.lit(0)))
    )


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longest window; a booking happens at the midnight of its day."""
    last = F.to_timestamp(F.max("booked_on"))
    return (
        known(rows, cutoff, "booked_on", days=90)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("bookings_90d"),
            F.count_if(F.col("direction") == "out").alias("debits_90d"),
            F.count_if(F.col("size") == "large").alias("large_bookings_90d"),
            F.sum("inflow").alias("inflow_90d"),
            F.sum("outflow").alias("outflow_90d"),
            F.floor(days_before(cutoff, last)).alias("days_since_booking_90d"),
        )
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Bookings and outflow of a month."""
    recent = known(rows, cutoff, "booked_on", days=30)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("bookings_30d"), F.sum("outflow").alias("outflow_30d")
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Bookings of a week, and the lowest of them."""
    recent = known(rows, cutoff, "booked_on", days=7)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("bookings_7d"), F.min("amount").alias("smallest_amount_7d")
    )
