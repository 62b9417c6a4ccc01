"""A job as teams have them: loops, helpers, a class, an unordered `first`."""

from datetime import datetime, timedelta

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import col, when

WINDOWS = [7, 30]


def flags(df: DataFrame, cutoff: datetime) -> list:
    out = []
    for days in WINDOWS:
        inside = col("ordered_at") >= sf.lit(cutoff - timedelta(days=days))
        out.append(sf.sum(when(inside, col("amount"))).alias(f"spent_{days}d"))
        out.append(sf.sum(when(inside & (df.status == "paid"), 1).otherwise(0)).alias(f"paid_{days}d"))
    return out


class BuyerStats:
    source = "orders"

    def build(self, orders: DataFrame, buyers: DataFrame, cutoff: datetime) -> DataFrame:
        known = orders.filter("status != 'test'").filter(col("ordered_at") <= sf.lit(cutoff))
        order = Window.partitionBy("buyer_id").orderBy(col("ordered_at").desc(), col("order_id").desc())
        newest = (
            known.withColumn("rn", sf.row_number().over(order))
            .filter(col("rn") == 1)
            .select("buyer_id", col("amount").alias("last_amount"))
        )
        stats = known.groupBy("buyer_id").agg(
            *flags(known, cutoff),
            sf.avg("amount").alias("mean_amount"),
            sf.first("status").alias("any_status"),
            sf.kurtosis("amount").alias("kurt"),
        )
        joined = buyers.join(stats, "buyer_id", "left").join(newest, "buyer_id", "left")
        features = (
            joined.fillna({f"paid_{days}d": 0 for days in WINDOWS})
            .withColumn("trend", col("spent_7d") / col("spent_30d"))
            .withColumn("segment", when(col("spent_30d") > 100, "big").otherwise("small"))
        )
        return features.select(
            "buyer_id",
            sf.lit(cutoff).alias("as_of"),
            "country",
            *[f"spent_{days}d" for days in WINDOWS],
            *[f"paid_{days}d" for days in WINDOWS],
            *["mean_amount", "any_status", "kurt", "last_amount", "trend", "segment"],
        )
