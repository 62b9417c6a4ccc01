"""The Spark session of a feature job."""

from __future__ import annotations

from pyspark.sql import SparkSession


def build_session(app_name: str) -> SparkSession:
    """A session that counts days and hours in UTC; master and memory come from `spark-submit`."""
    return (
        SparkSession.builder.appName(app_name)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
