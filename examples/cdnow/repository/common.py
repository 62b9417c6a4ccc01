"""What jobs share."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession


def get_spark(name: str) -> SparkSession:
    """The Spark session of a job."""
    builder = SparkSession.builder.appName(name)
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def until(df: DataFrame, column: str, cutoff: datetime, days: int) -> DataFrame:
    """Rows of the `days` days before the cutoff; the cutoff itself is excluded."""
    time = F.col(column).cast("timestamp")
    return df.filter(
        (time >= F.lit(cutoff - timedelta(days=days))) & (time < F.lit(cutoff))
    )


def per(amount: Column, number: Column) -> Column:
    """Amount per number; null when the number is 0."""
    return F.when(number != 0, amount / number)
