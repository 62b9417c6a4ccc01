# expect: python-udf
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def build(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    orders = tables["orders"].where(F.col("ordered_at") < F.lit(as_of))
    double = F.udf(lambda value: value * 2, "double")
    return orders.select("customer_id", double("amount").alias("amount_30d"))
