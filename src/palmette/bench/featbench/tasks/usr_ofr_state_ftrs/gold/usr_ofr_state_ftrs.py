"""In which state the offers were that a user looked at, when the user looked at them.

Grain: user_id
Inputs: offer_interactions, offer_states
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import days_before, known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "views_28d": "bigint",
    "live_views_28d": "bigint",
    "vain_clicks_28d": "bigint",
    "good_chances_28d": "bigint",
    "lost_offers_28d": "bigint",
    "lowest_budget_28d": "decimal(12,2)",
    "oldest_state_hours_28d": "double",
    "longest_dwell_live_28d": "int",
    "paused_views_7d": "bigint",
    "days_since_live_28d": "double",
    "live_share_28d": "double",
}
COUNTS = [
    "paused_views_7d",
]
HOUR = 3_600_000_000


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user who met an offer in the longer window."""
    rows = actions(inputs["offer_interactions"], inputs["offer_states"], cutoff)
    share = ratio(F.col("live_views_28d"), F.col("views_28d"))
    features = (
        month(rows, cutoff)
        .join(week(rows, cutoff), on="user_id", how="left")
        .withColumn("live_share_28d", share)
    )
    return publish(features, cutoff, GRAIN, COLUMNS, COUNTS)


def actions(rows: DataFrame, states: DataFrame, cutoff: datetime) -> DataFrame:
    """What logged-in users did with an offer, with its state just before that, and now."""
    at, is_live = F.col("occurred_at"), F.col("status_then") == "live"
    until = F.coalesce("state_until", at)
    held = (F.col("state_offer") == F.col("offer_id")) & (F.col("state_from") < at) & (until >= at)
    return (
        known(rows, cutoff, "occurred_at", "loaded_at", days=28, partition="day")
        .where(F.col("user_id").isNotNull())
        .where(F.col("kind") != "dismiss")
        .replace({"save": "click"}, subset=["kind"])
        .withColumn("dwell_ms", F.col("dwell_ms").try_cast("int"))
        .join(spans(states), on=held, how="left")
        .join(current(states, cutoff), on="offer_id", how="left")
        .withColumn("state_hours", (F.unix_micros(at) - F.unix_micros("state_from")) / HOUR)
        .withColumn(
            "chance", F.when(is_live & (F.col("budget_then") >= 500), "good").otherwise("other")
        )
    )


def spans(states: DataFrame) -> DataFrame:
    """States with the span in which they were the last ones, which begins after their instant."""
    by_offer = Window.partitionBy("offer_id").orderBy("taken_at")
    return states.withColumn("state_until", F.lead("taken_at").over(by_offer)).select(
        F.col("offer_id").alias("state_offer"),
        F.col("status").alias("status_then"),
        F.col("budget_left").alias("budget_then"),
        F.col("taken_at").alias("state_from"),
        "state_until",
    )


def current(states: DataFrame, cutoff: datetime) -> DataFrame:
    """The last state of an offer before the cut-off."""
    status = F.max_by("status", "taken_at").alias("status_now")
    return known(states, cutoff, "taken_at").groupBy("offer_id").agg(status)


def month(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Features of the longer window; a repeated delivery counts once."""
    is_view, is_live = F.col("kind") == "view", F.col("status_then") == "live"
    in_vain = (F.col("kind") == "click") & (F.col("status_then") == "exhausted")
    last_live = F.max(F.when(is_live, F.col("occurred_at")))
    return rows.groupBy("user_id").agg(
        distinct_where("interaction_id", is_view).alias("views_28d"),
        distinct_where("interaction_id", is_view & is_live).alias("live_views_28d"),
        distinct_where("interaction_id", in_vain).alias("vain_clicks_28d"),
        distinct_where("offer_id", F.col("chance") == "good").alias("good_chances_28d"),
        distinct_where("offer_id", is_live & (F.col("status_now") != "live")).alias(
            "lost_offers_28d"
        ),
        F.min(F.when(is_live, F.col("budget_then"))).alias("lowest_budget_28d"),
        F.max("state_hours").alias("oldest_state_hours_28d"),
        F.max(F.when(is_live, F.col("dwell_ms"))).alias("longest_dwell_live_28d"),
        days_before(cutoff, last_live).alias("days_since_live_28d"),
    )


def week(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Views of paused offers in the last week."""
    paused = (F.col("kind") == "view") & (F.col("status_then") == "paused")
    recent = known(rows, cutoff, "occurred_at", days=7)
    return recent.groupBy("user_id").agg(
        distinct_where("interaction_id", paused).alias("paused_views_7d")
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
