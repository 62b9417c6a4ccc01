"""Reading tables and writing feature views."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, path: str, format: str = "parquet") -> DataFrame:
    """The table at `path`. CSV files have a header line."""
    reader = spark.read.format(format)
    if format == "csv":
        reader = reader.option("header", True)
    return reader.load(path)


def write_table(df: DataFrame, path: str, partition_by: str | None = None) -> None:
    """Writes `df` as Parquet; with `partition_by`, only the partitions in `df` are replaced."""
    writer = df.write.mode("overwrite")
    if partition_by is not None:
        writer = writer.option("partitionOverwriteMode", "dynamic").partitionBy(partition_by)
    writer.parquet(path)
