"""How active a user was, at the end of each day in Berlin.

Grain: one row per `user_id` and day.
Sources: transactions.
Cut-off: the end of the partition's day: only what was known before it counts. Days and hours are
counted in Europe/Berlin.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

VIEW = "user_daily"
ZONE = "Europe/Berlin"
MICROS_PER_DAY = 86_400_000_000
TRANSACTIONS_PATH = "lake/transactions"
OUTPUT_TABLE = "user_daily"


def load(spark: SparkSession, config: dict[str, Any]) -> dict[str, DataFrame]:
    """The tables that the view reads, with the columns that it needs."""
    return {
        "transactions": spark.read.parquet(TRANSACTIONS_PATH).select(
            "transaction_id", "user_id", "booked_at", "loaded_at", "day", "amount"
        ),
    }


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    """One row per user, with what was known before `as_of`."""
    # Calendar days and hours are the view's, whatever zone the session came with.
    tables["transactions"].sparkSession.conf.set("spark.sql.session.timeZone", ZONE)
    transactions = known_transactions(tables["transactions"], as_of)
    features = transactions_by_user(transactions, as_of).dropna(subset=["user_id"])
    return features.select(
        "user_id",
        F.lit(as_of).alias("as_of"),
        F.col("purchases_1d").cast("int"),
        F.col("recency").cast("double"),
        F.col("average").cast("double"),
        F.to_date(F.lit(as_of) - F.expr("INTERVAL 1 MICROSECOND")).alias("day_of_view"),
    )


def known_transactions(transactions: DataFrame, as_of: datetime) -> DataFrame:
    """Rows of `transactions` that were known at the cut-off."""
    last_day = as_of.astimezone(timezone.utc).date()
    first_day = last_day - timedelta(days=2)
    return transactions.where(F.col("day").between(first_day, last_day)).where(
        (F.col("booked_at") >= F.lit(as_of) - F.expr("INTERVAL 1 DAY"))
        & (F.col("booked_at") < F.lit(as_of))
        & (F.col("loaded_at") < F.lit(as_of))
    )


def transactions_by_user(transactions: DataFrame, as_of: datetime) -> DataFrame:
    """Features of each user over rows of `transactions`."""
    return transactions.groupBy("user_id").agg(
        F.count("*").alias("purchases_1d"),
        ((F.unix_micros(F.lit(as_of)) - F.unix_micros(F.max("booked_at"))) / MICROS_PER_DAY).alias(
            "recency"
        ),
        F.try_divide(F.sum("amount"), F.count("*")).alias("average"),
    )


def write(features: DataFrame, config: dict[str, Any]) -> None:
    """Writes the view, and of partitions only those that it has rows for."""
    if features.sparkSession.catalog.tableExists(OUTPUT_TABLE):
        features.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").insertInto(
            OUTPUT_TABLE, overwrite=True
        )
    else:
        features.write.mode("overwrite").partitionBy("day_of_view").saveAsTable(OUTPUT_TABLE)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="YAML file of the view")
    parser.add_argument("--as-of", required=True, help="cut-off, ISO 8601; UTC without an offset")
    args = parser.parse_args(argv)
    as_of = datetime.fromisoformat(args.as_of)
    as_of = as_of if as_of.tzinfo else as_of.replace(tzinfo=timezone.utc)

    config = yaml.safe_load(Path(args.config).read_text(encoding="utf-8"))
    spark = SparkSession.builder.appName(VIEW).getOrCreate()
    tables = load(spark, config)
    features = build(tables, as_of)
    write(features, config)


if __name__ == "__main__":
    main()
