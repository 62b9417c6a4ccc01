"""Sessions, reading and writing."""

from pyspark.sql import DataFrame, SparkSession

from recsys_features.settings import Sink


def session(name: str) -> SparkSession:
    """The session of a view's job; days and hours are counted in UTC."""
    builder = SparkSession.builder.appName(name)
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def read(spark: SparkSession, path: str, format: str = "parquet") -> DataFrame:
    """The table at `path`."""
    return spark.read.format(format).load(path)


def overwrite(frame: DataFrame, sink: Sink) -> None:
    """Replaces the sink, or only its partitions that are in `frame`."""
    writer = frame.write.format(sink.format).mode("overwrite")
    if sink.partition_by is not None:
        writer = writer.option("partitionOverwriteMode", "dynamic").partitionBy(sink.partition_by)
    writer.save(sink.path)
