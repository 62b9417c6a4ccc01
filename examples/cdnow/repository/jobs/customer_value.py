"""customer_value: what a customer spent in the last year.

Reads purchases, writes one row per customer.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timezone

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from common import get_spark, per, until
from settings import JobSettings, load_settings


def read_sources(spark: SparkSession, settings: JobSettings) -> dict[str, DataFrame]:
    """Tables by name."""
    return {
        table.name: spark.read.format(table.format).load(table.path)
        for table in settings.tables
    }


def build(purchases: DataFrame, cutoff: datetime) -> DataFrame:
    """Spending of the 365 days before the cutoff."""
    spending = (
        until(purchases, "date", cutoff, days=365)
        .groupBy("customer_id")
        .agg(
            F.count("*").alias("purchases"),
            F.sum("dollars").alias("dollars"),
            F.sum("cds").alias("cds"),
        )
    )
    return spending.select(
        F.col("customer_id").cast("bigint"),
        F.lit(cutoff).alias("as_of"),
        F.col("purchases").cast("bigint"),
        F.col("dollars").cast("decimal(18,2)"),
        per(F.col("dollars"), F.col("cds")).cast("double").alias("dollars_per_record"),
    )


def store(result: DataFrame, settings: JobSettings) -> None:
    """Replaces the output, or only the partitions of the result."""
    writer = result.write.mode("overwrite")
    if settings.output_partition:
        writer = writer.option("partitionOverwriteMode", "dynamic")
        writer = writer.partitionBy(settings.output_partition)
    writer.parquet(settings.output_path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", required=True)
    parser.add_argument("--cutoff", required=True, help="ISO 8601, UTC")
    args = parser.parse_args()
    cutoff = datetime.fromisoformat(args.cutoff)
    if cutoff.tzinfo is None:
        cutoff = cutoff.replace(tzinfo=timezone.utc)
    settings = load_settings(args.settings)
    spark = get_spark(settings.job)
    store(build(**read_sources(spark, settings), cutoff=cutoff), settings)


if __name__ == "__main__":
    main()
