from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a purchase in the longest window."""
    rows = purchases(inputs["card_transactions"])
    features = (
        quarter(rows, cutoff)
        .join(month(rows, cutoff), on="user_id", how="left")
        .join(week(rows, cutoff), on="user_id", how="left")
    )
    return publish(shares(features, cutoff), cutoff, GRAIN, COLUMNS, COUNTS)


def purchases(rows: DataFrame) -> DataFrame:
    """Settled purchases in euros, with what was bought and whether it was much."""
    kind = (
        F.when(F.col("mcc") == 5411, "groceries")
        .when(F.col("mcc") == 5812, "dining")
        .when(F.col("mcc") == 4511, "travel")
        .when(F.col("mcc").isin(5651, 5732), "goods")
        .otherwise("other")
    )
    size = (
        F.when(F.col("amount") < 10, "small")
        .when(F.col("amount") < 50, "medium")
        .when(F.col("amount") < 200, "large")
        .otherwise("huge")
    )
    return (
        rows.where(F.col("status") == "settled")
        .where(F.col("currency") == "EUR")
        .where(F.col("amount") > 0)
        .withColumn("kind", kind)
        .withColumn("size", size)
    )


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longest window."""
    return (
        known(rows, cutoff, "authorised_at", "posted_at", days=90)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("purchases_90d"),
            F.sum("amount").alias("spend_90d"),
            F.avg("amount").alias("average_amount_90d"),
            F.stddev("amount").alias("deviation_90d"),
            F.count_if(F.col("kind") == "groceries").alias("groceries_90d"),
            F.count_if(F.col("kind") == "dining").alias("dining_90d"),
            F.count_if(F.col("kind") == "travel").alias("travel_90d"),
            F.count_if(F.col("size").isin("large", "huge")).alias("large_90d"),
            F.count_if(F.col("entry") == "online").alias("online_90d"),
            F.max("authorised_at").alias("last_at"),
        )
    )


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Purchases and spend of a month."""
    recent = known(rows, cutoff, "authorised_at", "posted_at", days=30)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("purchases_30d"), F.sum("amount").alias("spend_30d")
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Purchases and spend of a week."""
    recent = known(rows, cutoff, "authorised_at", "posted_at", days=7)
    return recent.groupBy("user_id").agg(
        F.count("*").alias("purchases_7d"), F.sum("amount").alias("spend_7d")
    )


def shares(features: DataFrame, cutoff: datetime) -> DataFrame:
    """What kinds of purchases there are, and how much of the spend is recent."""
    purchases_90d = F.col("purchases_90d")
    return (
        features.withColumn("groceries_share_90d", ratio(F.col("groceries_90d"), purchases_90d))
        .withColumn("dining_share_90d", ratio(F.col("dining_90d"), purchases_90d))
        .withColumn("travel_share_90d", ratio(F.col("travel_90d"), purchases_90d))
        .withColumn("large_share_90d", ratio(F.col("large_90d"), purchases_90d))
        .withColumn("online_share_90d", ratio(F.col("online_90d"), purchases_90d))
        .withColumn("spend_share_30d", ratio(F.col("spend_30d"), F.col("spend_90d")))
        .withColumn("spend_share_7d", ratio(F.col("spend_7d"), F.col("spend_30d")))
        .withColumn("days_since_purchase_90d", F.floor(days_before(cutoff, F.col("last_at"))))
    )
