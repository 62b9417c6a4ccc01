# expect: driver-action
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    if orders.count() == 0:
        return orders
    return orders.select("customer_id")
