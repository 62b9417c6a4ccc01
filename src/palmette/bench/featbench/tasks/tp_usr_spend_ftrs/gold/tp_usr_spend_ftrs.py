"""What a user spent up to the end of a day, by card and from the account, and how that changes.

Grain: user_id
Inputs: card_transactions, account_transactions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio, with_day
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "purchases_7d": "bigint",
    "purchases_28d": "bigint",
    "spend_7d": "decimal(18,2)",
    "spend_28d": "decimal(18,2)",
    "large_purchases_28d": "bigint",
    "in_store_purchases_28d": "bigint",
    "merchants_28d": "bigint",
    "shopping_days_28d": "bigint",
    "slowest_post_days_28d": "int",
    "outflow_7d": "decimal(18,2)",
    "outflow_28d": "decimal(18,2)",
    "spend_before": "decimal(18,2)",
    "outflow_before": "decimal(18,2)",
    "spend_trend": "double",
    "outflow_trend": "double",
}
AMOUNTS = [
    "spend_7d",
    "spend_28d",
    "outflow_7d",
    "outflow_28d",
]
COUNTS = [
    "purchases_7d",
    "purchases_28d",
    "large_purchases_28d",
    "in_store_purchases_28d",
    "merchants_28d",
    "shopping_days_28d",
]
WEEK = timedelta(days=7)


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a purchase or a booking, with the day that ends at the cut-off."""
    features = (
        bought(inputs["card_transactions"], cutoff)
        .join(booked(inputs["account_transactions"], cutoff), on="user_id", how="full")
        .fillna(0, subset=AMOUNTS)
        .withColumn("spend_before", F.col("spend_28d") - F.col("spend_7d"))
        .withColumn("outflow_before", F.col("outflow_28d") - F.col("outflow_7d"))
        .withColumn("spend_trend", trend("spend"))
        .withColumn("outflow_trend", trend("outflow"))
    )
    return with_day(publish(features, cutoff, GRAIN, COLUMNS, COUNTS), cutoff, "feature_day")


def bought(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Purchases of something that were not reversed, as far as they were posted."""
    size = F.when(F.col("amount") < 20, "small").when(F.col("amount") < 100, "usual")
    purchases = (
        known(rows, cutoff, "authorised_at", "posted_at", days=28)
        .where(F.col("status") != "reversed")
        .where(F.col("amount") > 0)
        .replace({"tap": "chip"}, subset=["entry"])
        .withColumn("merchant_key", F.get(F.split("descriptor", r"\*"), F.lit(2)))
        .withColumn("size", size.otherwise("large"))
        .withColumn("days_to_post", F.date_diff("posted_at", "authorised_at"))
        .withColumn("is_recent", F.col("authorised_at") >= F.lit(cutoff - WEEK))
    )
    return purchases.groupBy("user_id").agg(
        F.count_if("is_recent").alias("purchases_7d"),
        F.count("*").alias("purchases_28d"),
        F.sum(F.when(F.col("is_recent"), F.col("amount"))).alias("spend_7d"),
        F.sum("amount").alias("spend_28d"),
        F.count_if(F.col("size") == "large").alias("large_purchases_28d"),
        F.count_if(F.col("entry") == "chip").alias("in_store_purchases_28d"),
        F.count_distinct("merchant_key").alias("merchants_28d"),
        F.count_distinct(F.to_date("authorised_at")).alias("shopping_days_28d"),
        F.max("days_to_post").alias("slowest_post_days_28d"),
    )


def booked(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """What left the account other than by card; a booking is known from its day on."""
    amount = F.col("amount").try_cast("decimal(12,2)")
    bookings = (
        known(rows, cutoff, "booked_on", days=28)
        .where(F.col("kind") != "card")
        .withColumn("outflow", F.greatest(-amount, F.lit(0)))
        .withColumn("is_recent", F.col("booked_on") >= F.lit(cutoff - WEEK))
    )
    return bookings.groupBy("user_id").agg(
        F.sum(F.when(F.col("is_recent"), F.col("outflow"))).alias("outflow_7d"),
        F.sum("outflow").alias("outflow_28d"),
    )


def trend(what: str) -> Column:
    """The last week beside a mean one of the three weeks before it."""
    return ratio(3 * F.col(f"{what}_7d"), F.col(f"{what}_before"))


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
