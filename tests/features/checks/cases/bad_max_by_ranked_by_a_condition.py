# expect: tied-order
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    known = F.when(F.col("channel").isNotNull(), F.struct("ordered_at"))
    return orders.groupBy("customer_id").agg(F.max_by("channel", known).alias("last_channel"))
