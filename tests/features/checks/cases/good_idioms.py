# expect:
"""Many idioms in one place: none of them is a mistake."""

import functools
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

ID: Final = "customer_id"
SCHEMA = T.StructType([T.StructField("customer_id", T.LongType()), T.StructField("bonus", T.DoubleType())])
CHANNELS = ["web", "app"]
EPOCH = datetime(1970, 1, 1)


def per_channel(name: str) -> Column:
    return F.sum(F.when(F.col("channel") == name, F.col("amount")).otherwise(0.0)).alias(f"amount_{name}")


def newest_per_customer(orders: DataFrame) -> DataFrame:
    window = Window.partitionBy(ID).orderBy(F.desc("ordered_at"), F.desc("order_id"))
    return (
        orders.withColumn("rn", F.row_number().over(window))
        .filter(F.col("rn") == 1)
        .select(ID, F.col("channel").alias("newest_channel"), F.struct("amount", "gross").alias("money"))
        .withColumn("newest_amount", F.col("money.amount"))
        .drop("money")
    )


def sessions(orders: DataFrame) -> DataFrame:
    by_customer = Window.partitionBy(ID).orderBy("ordered_at", "order_id")
    running = by_customer.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    gap = F.unix_timestamp("ordered_at") - F.lag(F.unix_timestamp("ordered_at")).over(by_customer)
    return orders.withColumn("new", (gap > 1800).cast("int")).withColumn("session", F.sum("new").over(running))


def favourite(orders: DataFrame) -> DataFrame:
    counted = orders.groupBy(ID, "channel").count()
    best = Window.partitionBy(ID).orderBy(F.col("count").desc(), "channel")
    return counted.withColumn("place", F.row_number().over(best)).where(F.col("place") == 1).select(ID, "channel")


def long_form(orders: DataFrame) -> DataFrame:
    exploded = orders.select(ID, F.posexplode(F.array("amount", "gross")).alias("place", "value"))
    return exploded.groupBy(ID).pivot("place", [0, 1]).agg(F.avg("value"))


def rank_in_shop(orders: DataFrame) -> DataFrame:
    totals = orders.groupBy("shop_id", ID).agg(F.sum("amount").alias("total"))
    return totals.withColumn("r", F.rank().over(Window.partitionBy("shop_id").orderBy(F.desc("total"))))


def first_in_order(orders: DataFrame) -> DataFrame:
    window = Window.partitionBy(ID).orderBy("ordered_at", "order_id")
    return orders.select(ID, F.first("channel", ignorenulls=True).over(window).alias("first_channel")).distinct()


def collected(orders: DataFrame) -> DataFrame:
    pairs = orders.groupBy(ID).agg(F.collect_list(F.struct("ordered_at", "channel")).alias("pairs"))
    return pairs.select(ID, F.expr("transform(array_sort(pairs), p -> p.channel)").alias("channels"))


def build(spark: SparkSession, tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders, customers = tables["orders"], tables["customers"]
    window_start = as_of - timedelta(days=30)
    known = orders.filter(orders.ordered_at.between(window_start, as_of - timedelta(microseconds=1)))
    known = known.filter(F.col("loaded_at") < F.lit(as_of)).filter(~F.col("channel").isin(*CHANNELS) | F.col("channel").isNull())
    extra = spark.createDataFrame([(1, 0.5)], SCHEMA)
    names = list(chain(["orders_30d"], [f"amount_{name}" for name in CHANNELS]))
    label = "-".join(names) + "/".join(sorted(CHANNELS))
    assert names.count("orders_30d") == 1 and label
    counts = known.groupBy(ID).agg(F.count(F.lit(1)).alias("orders_30d"), *[per_channel(name) for name in CHANNELS])
    parts = [counts, newest_per_customer(known), favourite(known).withColumnRenamed("channel", "usual"), extra]
    joined = functools.reduce(lambda left, right: left.join(right, on=[ID], how="left"), parts, customers.select(ID).dropDuplicates())
    aliased = joined.alias("j").join(customers.alias("c"), F.col("j.customer_id") == F.col("c.customer_id"), "left_semi")
    filled = aliased.na.fill(0, subset=["orders_30d"]).transform(lambda df: df.withColumn("amount_30d", F.col("amount_web") + F.col("amount_app")))
    return filled.select(ID, F.lit(as_of).alias("as_of"), "orders_30d", "amount_30d", F.to_date(F.lit(as_of)).alias("day"))


def save(features: DataFrame, table: str) -> None:
    features.writeTo(table).overwritePartitions()


def save_elsewhere(features: DataFrame, table: str, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    features.write.insertInto(table, overwrite=True)
