# expect: hidden-fan-out
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    joined = orders.join(tables["customers"], "customer_id", "left")
    return joined.dropDuplicates(["order_id"])
