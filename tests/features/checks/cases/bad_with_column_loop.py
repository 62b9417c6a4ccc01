# expect: column-loop
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    for days in (7, 30):
        orders = orders.withColumn(f"in_{days}", F.col("ordered_at") >= F.date_sub(F.lit(as_of), days))
    return orders
