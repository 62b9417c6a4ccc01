# expect: tied-order
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    w = Window.partitionBy("customer_id").orderBy(F.col("ordered_at").desc())
    return orders.withColumn("place", F.row_number().over(w)).where("place = 1")
