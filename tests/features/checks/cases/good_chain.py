# expect:
"""One chain of methods, names spelled out."""

import argparse
import os
from datetime import datetime, timezone

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def load_tables(spark: SparkSession, root: str) -> dict[str, DataFrame]:
    return {name: spark.read.parquet(os.path.join(root, name)) for name in ("orders", "customers")}


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    """Orders of the 30 days before 2024-01-01, for example."""
    orders = tables["orders"]
    end = F.lit(as_of)
    recent = orders.where(
        (F.col("ordered_at") >= end - F.expr("INTERVAL 30 DAYS"))
        & (F.col("ordered_at") < end)
        & (F.col("loaded_at") < end)
        & (F.col("order_day") >= F.date_sub(F.to_date(end), 30))
    )
    totals = recent.groupBy("customer_id").agg(
        F.count("*").alias("orders_30d"),
        F.sum("amount").alias("amount_30d"),
    )
    return totals.select(
        "customer_id",
        end.alias("as_of"),
        F.coalesce(F.col("orders_30d"), F.lit(0)).alias("orders_30d"),
        "amount_30d",
        F.to_date(end).alias("day"),
    )


def write(features: DataFrame, path: str) -> None:
    (features.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("day").parquet(path))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--as-of", default=datetime.now(timezone.utc).isoformat())
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("activity").getOrCreate()
    features = build(load_tables(spark, os.environ["LAKE"]), datetime.fromisoformat(arguments.as_of))
    write(features, os.environ["OUT"])
    print(f"wrote {features.count()} rows")


if __name__ == "__main__":
    main()
