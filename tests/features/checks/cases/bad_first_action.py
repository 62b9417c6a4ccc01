# expect: driver-action
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    newest = orders.orderBy("ordered_at").first()
    return orders.where(F.col("order_id") == newest["order_id"])
