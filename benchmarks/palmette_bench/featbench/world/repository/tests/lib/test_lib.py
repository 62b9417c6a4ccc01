"""What views share."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import ratio
from recsys_features.lib.times import days_before, known
from recsys_features.lib.vectors import mean_vector, weighted_vector

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)


def test_known_ends_before_the_cutoff(spark: SparkSession) -> None:
    ages = [0, 1, 7 * 86400, 7 * 86400 + 1]
    rows = [(n, CUTOFF - timedelta(seconds=age)) for n, age in enumerate(ages)]
    frame = spark.createDataFrame(rows, "id int, at timestamp")
    assert [row.id for row in known(frame, CUTOFF, "at", days=7).collect()] == [1, 2]
    assert [row.id for row in known(frame, CUTOFF, "at", arrival="at").collect()] == [1, 2, 3]
    half = frame.where("id = 2").select((days_before(CUTOFF, F.col("at")) / 2).alias("age"))
    assert [row.age for row in half.collect()] == [3.5]


def test_ratio(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2), (1, 0), (None, 2)], "a int, b int")
    found = frame.select(ratio(F.col("a"), F.col("b")).alias("share")).collect()
    assert [row.share for row in found] == [0.5, None, None]


def test_vectors_without_a_value_do_not_count(spark: SparkSession) -> None:
    rows = [(1, [1.0, 2.0], 1), (1, [3.0, 4.0], 3), (1, None, 5), (2, None, 1)]
    frame = spark.createDataFrame(rows, "id int, vector array<float>, weight int").groupBy("id")
    found = frame.agg(
        mean_vector("vector", 2).alias("mean"),
        weighted_vector("vector", "weight", 2).alias("heavy"),
    )
    expected = [(1, [2.0, 3.0], [2.5, 3.5]), (2, None, None)]
    assert sorted(tuple(row) for row in found.collect()) == expected
