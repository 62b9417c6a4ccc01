"""What a user spends, and where.

Grain: one row per `user_id`.
Sources: merchants, transactions.
Cut-off: every row: only what was known before `as_of` counts. Days and hours are counted in UTC.
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

VIEW = "user_spending"
EMBEDDING_LENGTH = 2
MERCHANTS_PATH = "lake/merchants"
TRANSACTIONS_PATH = "lake/transactions"
OUTPUT_TABLE = "user_spending"


def load(spark: SparkSession, config: dict[str, Any]) -> dict[str, DataFrame]:
    """The tables that the view reads, with the columns that it needs."""
    return {
        "merchants": spark.read.parquet(MERCHANTS_PATH).select("id", "category"),
        "transactions": spark.read.parquet(TRANSACTIONS_PATH).select(
            "transaction_id",
            "user_id",
            "merchant_id",
            "booked_at",
            "loaded_at",
            "day",
            "amount",
            "status",
            "embedding",
        ),
    }


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    """One row per user, with what was known before `as_of`."""
    posted = known_posted(tables["transactions"], tables["merchants"], as_of)
    features = (
        posted_by_user(posted, as_of)
        .dropna(subset=["user_id"])
        .join(top_categories_by_user(posted), on="user_id", how="left")
    )
    return features.select(
        "user_id",
        F.lit(as_of).alias("as_of"),
        "purchases_30d",
        F.coalesce(F.col("spent_7d").cast("decimal(12,2)"), F.lit(0).cast("decimal(12,2)")).alias(
            "spent_7d"
        ),
        "food_30d",
        F.col("last_category").cast("string"),
        F.col("top_categories").cast("array<string>"),
        F.col("taste").cast("array<float>"),
        F.try_divide("food_30d", "purchases_30d").cast("double").alias("food_share"),
    )


def known_posted(transactions: DataFrame, merchants: DataFrame, as_of: datetime) -> DataFrame:
    """Rows of `posted` that were known at the cut-off."""
    last_day = as_of.astimezone(timezone.utc).date()
    first_day = last_day - timedelta(days=30)
    return (
        transactions.where(F.col("day").between(first_day, last_day))
        .where(F.col("status") == "posted")
        .join(
            merchants.select(F.col("id").alias("merchant_id"), "category"),
            on="merchant_id",
            how="left",
        )
        .where(
            (F.col("booked_at") >= F.lit(as_of - timedelta(days=30)))
            & (F.col("booked_at") < F.lit(as_of))
            & (F.col("loaded_at") < F.lit(as_of))
        )
    )


def posted_by_user(posted: DataFrame, as_of: datetime) -> DataFrame:
    """Features of each user over rows of `posted`."""
    last_7_days = F.col("booked_at") >= F.lit(as_of - timedelta(days=7))
    category_is_food = F.col("category") == "food"
    return posted.groupBy("user_id").agg(
        F.count("*").alias("purchases_30d"),
        F.sum(F.when(last_7_days, F.col("amount"))).alias("spent_7d"),
        F.count_if(category_is_food).alias("food_30d"),
        F.max_by(
            "category",
            F.when(F.col("category").isNotNull(), F.struct("booked_at", "transaction_id")),
        ).alias("last_category"),
        F.when(
            F.count("embedding") > 0,
            F.array(*[F.avg(F.get("embedding", i)) for i in range(EMBEDDING_LENGTH)]),
        ).alias("taste"),
    )


def top_categories_by_user(posted: DataFrame) -> DataFrame:
    """The 2 most frequent values of `category` of each user."""
    ranks = (
        posted.where(F.col("category").isNotNull())
        .groupBy("user_id", "category")
        .agg((-F.count("*")).alias("rank"))
    )
    return ranks.groupBy("user_id").agg(
        F.slice(F.sort_array(F.collect_list(F.struct("rank", "category")))["category"], 1, 2).alias(
            "top_categories"
        )
    )


def write(features: DataFrame, config: dict[str, Any]) -> None:
    """Writes the view."""
    features.write.mode("overwrite").saveAsTable(OUTPUT_TABLE)


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
