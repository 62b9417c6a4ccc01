"""The utilities that feature scripts share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from offers.utils.io import read_table, write_table
from offers.utils.math import safe_divide, share_or_zero
from offers.utils.time import last_days, latest_per_key, on_days, within_window

AS_OF = datetime(2025, 3, 1, tzinfo=UTC)


def test_windows(spark: SparkSession) -> None:
    offsets = [timedelta(0), timedelta(seconds=1), timedelta(days=7), timedelta(days=7, seconds=1)]
    rows = [(n, AS_OF - offset, (AS_OF - offset).date()) for n, offset in enumerate(offsets)]
    df = spark.createDataFrame(rows, "id int, at timestamp, day date")
    ids = {
        "within": [r.id for r in within_window(df, "at", AS_OF, 7).collect()],
        "last": [r.id for r in last_days(df, "at", AS_OF, 7).collect()],
        "days": [r.id for r in on_days(df, AS_OF, 7).collect()],
    }
    assert ids == {"within": [1, 2], "last": [0, 1, 2], "days": [0, 1, 2]}


def test_division(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2), (1, 0), (None, 2)], "a int, b int")
    a, b = F.col("a"), F.col("b")
    rows = df.select(safe_divide(a, b).alias("safe"), share_or_zero(a, b).alias("share")).collect()
    assert [tuple(row) for row in rows] == [(0.5, 0.5), (None, 0.0), (None, 0.0)]


def test_latest_per_key(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 1, "a"), (1, 2, "b"), (2, 1, "c")], "k int, t int, v string")
    assert sorted(row.v for row in latest_per_key(df, ["k"], "t").collect()) == ["b", "c"]


def test_writing_a_partition_keeps_the_others(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "view")
    for day, value in (("2025-01-01", 1), ("2025-01-02", 2), ("2025-01-02", 3)):
        df = spark.createDataFrame([(value, day)], "value int, day string")
        write_table(df, path, partition_by="day")
    assert sorted(row.value for row in read_table(spark, path).collect()) == [1, 3]
