# expect:
"""Functions imported by name, windows, constants, one transform each."""

import datetime as dt

from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import array_sort, broadcast, col, collect_list, lit, max_by, row_number, struct, sum, transform, when

KEYS = ["customer_id"]
AMOUNT = "amount"
ORDER = [col("ordered_at").desc(), col("order_id").desc()]


def visible(orders: DataFrame, as_of: dt.datetime) -> DataFrame:
    return orders.filter((col("ordered_at") < lit(as_of)) & (col("loaded_at") < lit(as_of)))


def newest(orders: DataFrame) -> DataFrame:
    w = Window.partitionBy(*KEYS).orderBy(*ORDER)
    ranked = orders.withColumn("place", row_number().over(w))
    return ranked.filter("place <= 3").drop("place")


def with_country(orders: DataFrame, customers: DataFrame) -> DataFrame:
    columns = customers.select("customer_id", "country")
    return orders.join(broadcast(columns), "customer_id", "left")


def totals(orders: DataFrame) -> DataFrame:
    return orders.groupBy(*KEYS).agg(
        sum(when(col(AMOUNT) > 0, col(AMOUNT))).alias("amount_30d"),
        max_by("channel", struct("ordered_at", "order_id")).alias("last_channel"),
        max_by("amount", when(col("amount").isNotNull(), struct("ordered_at", "amount"))).alias("last_amount"),
        transform(array_sort(collect_list(struct("ordered_at", "order_id"))), lambda item: item["order_id"]).alias("ids"),
    )


def count_by_key(orders: DataFrame) -> DataFrame:
    counted = orders.groupBy(*KEYS).count()
    return counted.withColumnRenamed("count", "orders_30d")


def build(orders: DataFrame, customers: DataFrame, as_of: dt.datetime) -> DataFrame:
    seen = visible(orders, as_of)
    everyone = seen.select("customer_id").distinct()
    named = with_country(newest(seen), customers)
    joined = everyone.join(totals(named), KEYS, "left").join(count_by_key(seen), on=KEYS, how="left")
    return joined.select(*KEYS, lit(as_of).alias("as_of"), "orders_30d", "amount_30d", lit(as_of).cast("date").alias("day"))
