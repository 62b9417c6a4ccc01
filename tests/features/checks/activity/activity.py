"""Orders of a customer, written by hand."""

from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody who writes Spark names it


def build(orders: DataFrame, customers: DataFrame, as_of: datetime) -> DataFrame:
    orders.sparkSession.conf.set("spark.sql.session.timeZone", "UTC")
    totals = (
        recent(orders, as_of)
        .groupBy("customer_id")
        .agg(F.count("*").alias("orders_30d"), F.sum("amount").alias("amount_30d"))
    )
    return customers.join(totals, "customer_id", "left").select(
        "customer_id",
        F.lit(as_of).alias("as_of"),
        F.coalesce(F.col("orders_30d"), F.lit(0)).alias("orders_30d"),
        "amount_30d",
        F.to_date(F.lit(as_of - timedelta(microseconds=1))).alias("day"),
    )


def recent(orders: DataFrame, as_of: datetime) -> DataFrame:
    """Orders of the last 30 days that were known at the cut-off."""
    start = as_of - timedelta(days=30)
    return orders.where(
        F.col("order_day").between(start.date(), as_of.date())
        & (F.col("ordered_at") >= start)
        & (F.col("ordered_at") < as_of)
        & (F.col("loaded_at") < as_of)
    )
