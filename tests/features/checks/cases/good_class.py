# expect:
"""A class with transforms as methods; writes one partition's folder."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyspark.sql.functions as fn
from pyspark.sql import DataFrame, SparkSession


@dataclass
class Job:
    spark: SparkSession
    out: str

    def write(self, features: DataFrame, day: date) -> None:
        features.drop("day").write.parquet(f"{self.out}/day={day:%Y-%m-%d}", mode="overwrite")


def only_paid(df: DataFrame) -> DataFrame:
    return df.transform(lambda rows: rows.where(rows.amount > 0)).where(rows_are_known(df))


def rows_are_known(df: DataFrame):
    return df["customer_id"].isNotNull() & df["ordered_at"].isNotNull()


def build(spark: SparkSession, orders_df: DataFrame, customers_df: DataFrame, as_of: datetime) -> DataFrame:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    start = as_of - timedelta(days=30)
    kept = only_paid(orders_df).where(fn.col("ordered_at").between(start, as_of - timedelta(microseconds=1)))
    agg = kept.groupBy("customer_id").agg({"order_id": "count", "amount": "sum"}).toDF("customer_id", "amount_30d", "orders_30d")
    result = customers_df.select("customer_id").join(agg, ["customer_id"], "left")
    return result.select(
        result.customer_id, fn.lit(as_of).alias("as_of"), fn.coalesce("orders_30d", fn.lit(0)).alias("orders_30d"),
        result.amount_30d, fn.lit(as_of.date()).alias("day"))
