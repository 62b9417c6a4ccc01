"""Windows before the cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import Window as W
from pyspark.sql import functions as F


def within_window(df: DataFrame, column: str, as_of: datetime, days: int) -> DataFrame:
    """The rows whose `column` lies in `[as_of - days, as_of)`."""
    start = as_of - timedelta(days=days)
    return df.where((F.col(column) >= F.lit(start)) & (F.col(column) < F.lit(as_of)))


def last_days(df: DataFrame, column: str, as_of: datetime, days: int) -> DataFrame:
    """The rows of the last `days` days for reports, today included."""
    start = as_of - timedelta(days=days)
    return df.where(F.col(column).between(F.lit(start), F.lit(as_of)))


def on_days(df: DataFrame, as_of: datetime, days: int, column: str = "day") -> DataFrame:
    """The partitions that can hold rows of the last `days` days; narrow with `within_window`."""
    start = as_of - timedelta(days=days)
    return df.where((F.col(column) >= F.lit(start.date())) & (F.col(column) <= F.lit(as_of.date())))


def latest_per_key(df: DataFrame, keys: Sequence[str], order_by: str) -> DataFrame:
    """The newest row of each key by `order_by`."""
    newest_first = W.partitionBy(*keys).orderBy(F.col(order_by).desc())
    return df.withColumn("_row", F.row_number().over(newest_first)).where("_row = 1").drop("_row")
