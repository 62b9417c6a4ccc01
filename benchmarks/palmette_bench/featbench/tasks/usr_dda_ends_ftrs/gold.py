from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.times import known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user with a booking in the longer window."""
    rows = bookings(inputs["account_transactions"], cutoff)
    change = F.col("last_amount_90d") - F.col("first_amount_90d")
    features = (
        quarter(rows, cutoff)
        .join(week(rows, cutoff), on="user_id", how="left")
        .withColumn("amount_change_90d", change)
        .withColumn("up_share_90d", ratio(F.col("steps_up_90d"), F.col("bookings_90d")))
    )
    return publish(features, cutoff, GRAIN, COLUMNS)


def bookings(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """All known bookings other than fees, beside the one before; of a day, the lower number is."""
    order = Window.partitionBy("user_id").orderBy("booked_on", "booking_id")
    return (
        known(rows, cutoff, "booked_on")
        .where(F.col("kind") != "fee")
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .withColumn("payee", F.split_part("counterparty", F.lit("*"), F.lit(1)))
        .withColumn("amount_before", F.lag("amount").over(order))
    )


def newest_first(name: str) -> Column:
    """Aggregate: the values of a column, newest first; bookings without one do not count."""
    history = F.sort_array(F.collect_list(F.struct("booked_on", "booking_id", name)), asc=False)
    values = F.transform(history, lambda booking: booking[name])
    return F.filter(values, lambda value: value.isNotNull())


def quarter(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window."""
    amounts, payees = newest_first("amount"), newest_first("payee")
    return (
        known(rows, cutoff, "booked_on", days=90)
        .groupBy("user_id")
        .agg(
            F.count("*").alias("bookings_90d"),
            F.try_element_at(amounts, F.lit(-1)).alias("first_amount_90d"),
            F.try_element_at(amounts, F.lit(1)).alias("last_amount_90d"),
            F.try_element_at(payees, F.lit(1)).alias("last_payee_90d"),
            F.slice(newest_first("kind"), 1, 3).alias("last_3_kinds_90d"),
            F.slice(F.array_distinct(payees), 1, 2).alias("last_2_payees_90d"),
            F.count_if(F.col("amount") > F.col("amount_before")).alias("steps_up_90d"),
        )
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The latest kind of the shorter window."""
    recent = known(rows, cutoff, "booked_on", days=7)
    kind = F.max_by("kind", F.struct("booked_on", "booking_id"))
    return recent.groupBy("user_id").agg(kind.alias("last_kind_7d"))
