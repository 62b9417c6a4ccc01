from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import days_before, known
from recsys_features.lib.vectors import mean_vector, weighted_vector

HALF_LIFE_DAYS = 14


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a booking in the window."""
    rows = bookings(inputs["account_transactions"], inputs["merchant_embeddings"], cutoff)
    cards, debits = F.coalesce("card_bookings_90d", F.lit(0)), F.coalesce("debits_90d", F.lit(0))
    features = (
        booked(rows)
        .join(by_card(rows), on="user_id", how="left")
        .join(debited(rows), on="user_id", how="left")
        .withColumn("vector_share_90d", ratio(F.col("vectors_90d"), F.col("bookings_90d")))
        .withColumn("card_share_90d", ratio(cards, F.col("bookings_90d")))
        .withColumn("debit_share_90d", ratio(debits, F.col("bookings_90d")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def bookings(rows: DataFrame, embeddings: DataFrame, cutoff: datetime) -> DataFrame:
    """Bookings with the vector of the counterparty; one that is two weeks older counts half."""
    halves = days_before(cutoff, F.col("booked_on")) / HALF_LIFE_DAYS
    return (
        known(rows, cutoff, "booked_on", days=90)
        .withColumn("merchant_key", F.get(F.split("counterparty", r"\*"), F.lit(2)))
        .withColumn("weight", F.pow(F.lit(0.5), halves))
        .join(embeddings.select("merchant_key", "vector"), on="merchant_key", how="left")
    )


def booked(rows: DataFrame) -> DataFrame:
    """Of all bookings."""
    return rows.groupBy("user_id").agg(
        F.count("*").alias("bookings_90d"),
        F.count_distinct("merchant_key").alias("counterparties_90d"),
        F.count("vector").alias("vectors_90d"),
        weighted_vector("vector", "weight").alias("recent_vector_90d"),
    )


def by_card(rows: DataFrame) -> DataFrame:
    """Of bookings of the card."""
    return (
        rows.where(F.col("kind") == "card")
        .groupBy("user_id")
        .agg(
            F.count("*").alias("card_bookings_90d"),
            mean_vector("vector").alias("card_vector_90d"),
        )
    )


def debited(rows: DataFrame) -> DataFrame:
    """Of direct debits."""
    return (
        rows.where(F.col("kind") == "direct_debit")
        .groupBy("user_id")
        .agg(F.count("*").alias("debits_90d"), mean_vector("vector").alias("debit_vector_90d"))
    )
