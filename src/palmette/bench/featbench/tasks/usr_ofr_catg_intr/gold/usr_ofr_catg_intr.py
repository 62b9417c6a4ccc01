"""How a user has browsed the offers of a category in the last 60 days.

Grain: user_id, category
Inputs: category_interactions
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

GRAIN = ["user_id", "category"]
COLUMNS = {
    "events_60d": "bigint",
    "clicks_60d": "bigint",
    "mobile_events_60d": "bigint",
    "long_visits_60d": "bigint",
    "days_60d": "bigint",
    "campaigns_60d": "bigint",
    "average_seconds_60d": "double",
    "highest_price_60d": "decimal(12,2)",
    "click_rate_60d": "double",
    "days_since_event_60d": "int",
}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user and category that the user has browsed in the window."""
    browsed = (
        visits(inputs["category_interactions"], cutoff)
        .groupBy(*GRAIN)
        .agg(
            F.count("*").alias("events_60d"),
            F.count_if(F.col("kind") == "click").alias("clicks_60d"),
            F.count_if(F.col("device") == "mobile").alias("mobile_events_60d"),
            F.count_if(F.col("visit") == "long").alias("long_visits_60d"),
            F.count_distinct("day").alias("days_60d"),
            F.count_distinct("campaign").alias("campaigns_60d"),
            F.avg("seconds").alias("average_seconds_60d"),
            F.max("price_seen").alias("highest_price_60d"),
            F.max("at").alias("last_at"),
        )
    )
    features = browsed.withColumn(
        "click_rate_60d", ratio(F.col("clicks_60d"), F.col("events_60d"))
    ).withColumn("days_since_event_60d", F.floor(days_before(cutoff, F.col("last_at"))))
    return publish(features, cutoff, GRAIN, COLUMNS)


def visits(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Browsing of logged-in users within a category; searches have none of their own."""
    timed = rows.withColumn("at", F.timestamp_millis("at_ms"))
    return (
        known(timed, cutoff, "at", "loaded_at", days=60)
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") != "search")
        .where(F.col("category").isNotNull())
        .withColumn("campaign", F.get(F.split("page", "/"), F.lit(1)))
        .replace({"ios": "mobile", "android": "mobile"}, subset=["device"])
        .withColumn("seconds", F.col("seconds").try_cast("int"))
        .withColumn("price_seen", F.col("price_seen").try_cast("decimal(12,2)"))
        .withColumn("day", F.to_date("at"))
        .withColumn("visit", F.when(F.col("seconds") >= 60, "long").otherwise("short"))
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
