"""What was known of the user when a decision was made.

Grain: the rows of `decisions`, by `user_id`.
Sources: decisions, transactions, profiles.
Cut-off: each row's own: only what was known before it counts. Days and hours are counted in UTC.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

VIEW = "decision_features"
ZONE = "UTC"
MICROS_PER_MINUTE = 60_000_000
MICROS_PER_DAY = 86_400_000_000
DECISIONS_TABLE = "lake.decisions"
PROFILES_PATH = "lake/profiles"
TRANSACTIONS_PATH = "lake/transactions"
OUTPUT_TABLE = "decision_features"


def load(spark: SparkSession, config: dict[str, Any]) -> dict[str, DataFrame]:
    """The tables that the view reads, with the columns that it needs."""
    return {
        "decisions": spark.table(DECISIONS_TABLE).select(
            "decision_id", "user_id", "decided_at", "accepted"
        ),
        "profiles": spark.read.parquet(PROFILES_PATH).select("user_id", "updated_at", "country"),
        "transactions": spark.read.parquet(TRANSACTIONS_PATH).select(
            "transaction_id", "user_id", "booked_at", "loaded_at", "day"
        ),
    }


def build(tables: dict[str, DataFrame]) -> DataFrame:
    """One row for every row of `decisions`, with what was known before its cut-off."""
    # Calendar days and hours are the view's, whatever zone the session came with.
    tables["decisions"].sparkSession.conf.set("spark.sql.session.timeZone", ZONE)
    spine = spine_rows(tables["decisions"])
    visits = known_visits(tables["transactions"], spine)
    features = spine.join(visits_by_user(visits), on=["user_id", "as_of"], how="left").join(
        profiles_of_user(tables["profiles"], spine), on=["user_id", "as_of"], how="left"
    )
    return features.select(
        "user_id",
        "decision_id",
        "accepted",
        "as_of",
        F.coalesce("visits_7d", F.lit(0)).alias("visits_7d"),
        F.col("longest_pause").cast("double"),
        F.coalesce(F.col("country").cast("string"), F.lit("unknown")).alias("country"),
    )


def spine_rows(decisions: DataFrame) -> DataFrame:
    """The rows of the output, duplicates included, each with its cut-off."""
    return decisions.select(
        "user_id", "decision_id", "accepted", F.col("decided_at").alias("as_of")
    )


def known_visits(visits: DataFrame, spine: DataFrame) -> DataFrame:
    """Each cut-off with the rows of `visits` that were known at it."""
    last_day = spine.select(F.max(F.to_date("as_of"))).scalar()
    user_events = Window.partitionBy("user_id", "as_of").orderBy("booked_at", "transaction_id")
    return (
        spine.select("user_id", "as_of")
        .distinct()
        .join(visits.where(F.col("day") <= last_day), on="user_id", how="inner")
        .where((F.col("booked_at") < F.col("as_of")) & (F.col("loaded_at") < F.col("as_of")))
        .withColumn(
            "visit_gap",
            F.unix_micros("booked_at") - F.lag(F.unix_micros("booked_at")).over(user_events),
        )
        .withColumn(
            "visit",
            F.count_if(F.col("visit_gap") >= 30 * MICROS_PER_MINUTE).over(
                user_events.rowsBetween(Window.unboundedPreceding, Window.currentRow)
            )
            + 1,
        )
        .drop("visit_gap")
        .withColumn(
            "days_between",
            (F.unix_micros("booked_at") - F.lag(F.unix_micros("booked_at")).over(user_events))
            / MICROS_PER_DAY,
        )
    )


def visits_by_user(visits: DataFrame) -> DataFrame:
    """Features of each user over rows of `visits`."""
    last_7_days = F.col("booked_at") >= F.col("as_of") - F.expr("INTERVAL 7 DAYS")
    return visits.groupBy("user_id", "as_of").agg(
        F.count_distinct(F.when(last_7_days, F.col("visit"))).alias("visits_7d"),
        F.max("days_between").alias("longest_pause"),
    )


def profiles_of_user(profiles: DataFrame, spine: DataFrame) -> DataFrame:
    """Columns of profiles as known at the cut-off, by user_id."""
    newest_first = Window.partitionBy("user_id", "as_of").orderBy(F.col("updated_at").desc())
    return (
        spine.select("user_id", "as_of")
        .distinct()
        .join(profiles, on="user_id", how="inner")
        .where(F.col("updated_at") < F.col("as_of"))
        .withColumn("recency", F.row_number().over(newest_first))
        .where(F.col("recency") == 1)
        .drop("recency")
        .select("user_id", "as_of", "country")
    )


def write(features: DataFrame, config: dict[str, Any]) -> None:
    """Writes the view."""
    features.write.mode("overwrite").saveAsTable(OUTPUT_TABLE)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="YAML file of the view")
    args = parser.parse_args(argv)

    config = yaml.safe_load(Path(args.config).read_text(encoding="utf-8"))
    spark = SparkSession.builder.appName(VIEW).getOrCreate()
    tables = load(spark, config)
    features = build(tables)
    write(features, config)


if __name__ == "__main__":
    main()
