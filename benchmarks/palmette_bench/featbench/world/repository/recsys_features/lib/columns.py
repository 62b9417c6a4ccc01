"""Columns."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def ratio(part: Column, whole: Column) -> Column:
    """`part / whole`; null where the whole is zero or null."""
    return F.try_divide(part.cast("double"), whole.cast("double"))


def distinct_where(column: str, condition: Column) -> Column:
    """Aggregate: how many values of `column` there are in the rows that meet the condition."""
    return F.count_distinct(F.when(condition, F.col(column)))


def publish(
    frame: DataFrame,
    cutoff: datetime,
    grain: Iterable[str],
    columns: Mapping[str, str],
    counts: Iterable[str] = (),
) -> DataFrame:
    """The grain, `as_of`, and the columns with their types; `counts` are 0 instead of null."""
    zeros = set(counts)
    typed = [
        (F.coalesce(F.col(name), F.lit(0)) if name in zeros else F.col(name)).cast(kind).alias(name)
        for name, kind in columns.items()
    ]
    return frame.select(*grain, F.lit(cutoff).cast("timestamp").alias("as_of"), *typed)


def with_day(features: DataFrame, cutoff: datetime, name: str) -> DataFrame:
    """Adds the day that ends at the cut-off, to partition by."""
    return features.withColumn(name, F.lit((cutoff - timedelta(microseconds=1)).date()))
