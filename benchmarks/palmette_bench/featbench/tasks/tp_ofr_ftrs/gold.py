from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio, with_day
from recsys_features.lib.times import known


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer that was met or redeemed, with the day that ends at the cut-off."""
    features = (
        met(inputs["offer_interactions"], cutoff)
        .join(redeemed(inputs["redemptions"], cutoff), on="offer_id", how="full")
        .withColumn("click_rate_7d", ratio(F.col("clicks_7d"), F.col("views_7d")))
        .withColumn("top_share_7d", ratio(F.col("top_views_7d"), F.col("views_7d")))
        .withColumn(
            "redemptions_per_viewer",
            ratio(F.coalesce("redemptions_30d", F.lit(0)), F.col("viewers_7d")),
        )
    )
    return with_day(publish(features, cutoff, GRAIN, COLUMNS, COUNTS), cutoff, "feature_day")


def met(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """What logged-in users did with an offer; a save counts as a click, a delivery once."""
    actions = (
        known(rows, cutoff, "occurred_at", "loaded_at", days=7, partition="day")
        .where(F.col("user_id").isNotNull())
        .where(F.col("placement").isNotNull())
        .where(F.col("kind") != "dismiss")
        .replace({"save": "click"}, subset=["kind"])
        .replace({"ios": "app", "android": "app"}, subset=["device"])
        .withColumn("surface", F.split_part("placement", F.lit("/"), F.lit(1)))
        .withColumn("position", F.split_part("placement", F.lit("/"), F.lit(3)).try_cast("int"))
        .withColumn("dwell_ms", F.col("dwell_ms").try_cast("int"))
        .withColumn("attention", F.when(F.col("dwell_ms") >= 10_000, "long").otherwise("short"))
        .withColumn("place", F.when(F.col("position") <= 3, "top").otherwise("below"))
    )
    is_view = F.col("kind") == "view"
    return actions.groupBy("offer_id").agg(
        distinct_where("interaction_id", is_view).alias("views_7d"),
        distinct_where("interaction_id", F.col("kind") == "click").alias("clicks_7d"),
        F.count_distinct("user_id").alias("viewers_7d"),
        distinct_where("interaction_id", F.col("device") == "app").alias("app_interactions_7d"),
        distinct_where("interaction_id", F.col("surface") == "mail").alias("mail_interactions_7d"),
        distinct_where("interaction_id", is_view & (F.col("place") == "top")).alias("top_views_7d"),
        distinct_where("interaction_id", F.col("attention") == "long").alias(
            "long_interactions_7d"
        ),
        F.min("position").alias("best_position_7d"),
    )


def redeemed(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Redemptions of an offer with a known channel, of something."""
    return (
        known(rows, cutoff, "redeemed_at", "loaded_at", days=30)
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .where(F.col("amount") > 0)
        .where(F.col("channel").isNotNull())
        .groupBy("offer_id")
        .agg(F.count("*").alias("redemptions_30d"), F.sum("amount").alias("amount_30d"))
    )
