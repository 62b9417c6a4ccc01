"""How an offer did up to the end of a day.

Grain: offer_id
Inputs: offer_interactions, redemptions
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio, with_day
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["offer_id"]
COLUMNS = {
    "views_7d": "bigint",
    "clicks_7d": "bigint",
    "viewers_7d": "bigint",
    "app_interactions_7d": "bigint",
    "mail_interactions_7d": "bigint",
    "top_views_7d": "bigint",
    "long_interactions_7d": "bigint",
    "best_position_7d": "int",
    "redemptions_30d": "bigint",
    "amount_30d": "decimal(18,2)",
    "click_rate_7d": "double",
    "top_share_7d": "double",
    "redemptions_per_viewer": "double",
}
COUNTS = [
    "views_7d",
    "clicks_7d",
    "viewers_7d",
    "app_interactions_7d",
    "mail_interactions_7d",
    "top_views_7d",
    "long_interactions_7d",
    "redemptions_30d",
]


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


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


def save(frame: DataFrame, settings: ViewSettings) -> None:
    """Writes the view."""
    overwrite(frame, settings.sink)


def run(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, help="YAML file of the view")
    parser.add_argument("--cutoff", required=True, help="ISO 8601; UTC without an offset")
    args = parser.parse_args(argv)
    cutoff = datetime.fromisoformat(args.cutoff)
    cutoff = cutoff if cutoff.tzinfo else cutoff.replace(tzinfo=UTC)

    settings = ViewSettings.load(args.settings)
    spark = session(settings.view)
    save(compute(read_inputs(spark, settings), cutoff), settings)


if __name__ == "__main__":
    run()
