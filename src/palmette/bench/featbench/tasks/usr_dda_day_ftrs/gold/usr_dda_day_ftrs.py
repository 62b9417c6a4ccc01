"""Bookings of a user by whole days, seen in the middle of a morning.

Grain: user_id
Inputs: account_transactions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import days_before, known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "bookings_1d": "bigint",
    "bookings_7d": "bigint",
    "outflow_7d": "decimal(18,2)",
    "booking_days_28d": "bigint",
    "weekend_bookings_28d": "bigint",
    "outflow_28d": "decimal(18,2)",
    "weekend_outflow_28d": "decimal(18,2)",
    "first_days_bookings_90d": "bigint",
    "days_since_booking_90d": "int",
    "week_share_28d": "double",
    "weekend_share_28d": "double",
}
COUNTS = [
    "bookings_1d",
    "bookings_7d",
    "booking_days_28d",
    "weekend_bookings_28d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


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
