# expect:
"""SQL texts, helpers that make columns by pattern, reduce over joins, logging."""

import logging
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window as W

log = logging.getLogger(__name__)
DAYS = (7, 30)


def in_window(days: int, cutoff: Column) -> Column:
    return F.col("ordered_at") >= cutoff - F.make_dt_interval(F.lit(days))


def aggregates(cutoff: Column) -> list[Column]:
    made = []
    for days in DAYS:
        made.append(F.count_if(in_window(days, cutoff)).alias(f"orders_{days}d"))
        made.append(F.sum(F.when(in_window(days, cutoff), F.col("amount"))).alias(f"amount_{days}d"))
    return made


def build(sources, as_of):
    log.info("building %s", ", ".join(["orders", "customers"]))
    cutoff = F.lit(as_of)
    orders = sources["orders"].alias("o").where(F.col("o.ordered_at") < cutoff).filter("channel in ('web', 'app') and amount > 0")
    by_customer = W.partitionBy("customer_id").orderBy("ordered_at", "order_id")
    orders = orders.withColumns({"before": F.lag("amount").over(by_customer), "running": F.sum("amount").over(by_customer)})
    parts = [orders.groupBy("customer_id").agg(*aggregates(cutoff)),
             orders.groupBy("customer_id").agg(F.expr("avg(amount - coalesce(before, 0)) as step"),
                                               F.size(F.collect_set("channel")).alias("channels"))]
    features = reduce(lambda left, right: left.join(right, "customer_id", "full"), parts)
    features = features.fillna({"orders_30d": 0})
    return features.selectExpr("customer_id", "orders_30d", "amount_30d", "step as total") if False else (
        features.select("customer_id", cutoff.alias("as_of"), "orders_30d", F.col("amount_30d"), F.to_date(cutoff).alias("day")))
