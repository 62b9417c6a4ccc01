from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.times import days_before, known

MOST_DAYS = 90


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user, active or not."""
    features = (
        inputs["users"]
        .join(met(inputs["offer_interactions"], cutoff), on="user_id", how="left")
        .join(visited(inputs["category_interactions"], cutoff), on="user_id", how="left")
        .join(redeemed(inputs["redemptions"], cutoff), on="user_id", how="left")
    )
    days = F.col("days_since_redemption")
    lapsing = F.when(days < MOST_DAYS, "lapsing").when(days >= MOST_DAYS, "lapsed")
    capped = F.least(F.floor(days), F.lit(MOST_DAYS))
    features = features.withColumns(
        {
            "has_redeemed": days.isNotNull(),
            "redemption_recency": F.coalesce(capped, F.lit(MOST_DAYS)),
            "activity": F.when(days < 30, "active").otherwise(F.coalesce(lapsing, F.lit("never"))),
        }
    )
    return publish(features, cutoff, GRAIN, COLUMNS)


def met(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The last view and the last click of a user; later deliveries of the same change nothing."""
    recent = known(rows, cutoff, "occurred_at", "loaded_at", days=60, partition="day")
    viewed, clicked = (
        days_before(cutoff, F.max(F.when(F.col("kind") == kind, F.col("occurred_at"))))
        for kind in ("view", "click")
    )
    return recent.groupBy("user_id").agg(
        F.floor(viewed).alias("days_since_view_60d"), clicked.alias("days_since_click_60d")
    )


def visited(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """The last visit of a user to the catalogue."""
    timed = rows.withColumn("at", F.timestamp_millis("at_ms"))
    days = F.floor(days_before(cutoff, F.max("at")))
    recent = known(timed, cutoff, "at", "loaded_at", days=60)
    return recent.groupBy("user_id").agg(days.alias("days_since_visit_60d"))


def redeemed(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions in the app: calendar days since the first, 24-hour days since the last."""
    first = F.date_diff(F.lit(cutoff), F.min("redeemed_at"))
    last = days_before(cutoff, F.max("redeemed_at"))
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at")
        .where(F.col("channel") == "app")
        .groupBy("user_id")
        .agg(first.alias("days_since_first_redemption"), last.alias("days_since_redemption"))
    )
