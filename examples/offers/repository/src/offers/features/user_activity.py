"""User activity: how often a user looks at offers and clicks on them.

Grain: one row per `user_id`.
Sources: interactions.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from offers.config import FeatureViewConfig
from offers.utils.io import read_table, write_table
from offers.utils.math import safe_divide
from offers.utils.session import build_session
from offers.utils.time import on_days, within_window

ACTIVE_DAYS = 30
CLICK_DAYS = 7


def load_tables(spark: SparkSession, config: FeatureViewConfig) -> dict[str, DataFrame]:
    """The tables of the configuration, by name."""
    return {
        name: read_table(spark, source.path, source.format)
        for name, source in config.sources.items()
    }


def build_features(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    """One row per user with an interaction in the 30 days before `as_of`."""
    visible = visible_interactions(tables["interactions"], as_of)
    features = active_days(visible, as_of).join(clicks(visible, as_of), on="user_id", how="left")
    return features.select(
        F.col("user_id").cast(T.LongType()),
        F.lit(as_of).cast(T.TimestampType()).alias("as_of"),
        F.col("active_days_30d").cast(T.LongType()),
        F.col("days_since_seen").cast(T.IntegerType()),
        F.coalesce("impressions_7d", F.lit(0)).cast(T.LongType()).alias("impressions_7d"),
        F.coalesce("clicks_7d", F.lit(0)).cast(T.LongType()).alias("clicks_7d"),
        safe_divide(F.col("clicks_7d"), F.col("impressions_7d")).alias("click_rate_7d"),
    )


def visible_interactions(interactions: DataFrame, as_of: datetime) -> DataFrame:
    """Interactions of the longest window that were available before the cut-off, each once."""
    recent = within_window(
        on_days(interactions, as_of, ACTIVE_DAYS), "event_time", as_of, ACTIVE_DAYS
    )
    return recent.where(F.col("available_time") < F.lit(as_of)).dropDuplicates(["interaction_id"])


def active_days(interactions: DataFrame, as_of: datetime) -> DataFrame:
    """Days with an interaction, and days since the last one, per user."""
    return interactions.groupBy("user_id").agg(
        F.count_distinct("day").alias("active_days_30d"),
        F.datediff(F.lit(as_of.date()), F.max(F.to_date("event_time"))).alias("days_since_seen"),
    )


def clicks(interactions: DataFrame, as_of: datetime) -> DataFrame:
    """Impressions and clicks of the short window, per user."""
    recent = within_window(interactions, "event_time", as_of, CLICK_DAYS)
    return recent.groupBy("user_id").agg(
        F.count_if(F.col("action") == "impression").alias("impressions_7d"),
        F.count_if(F.col("action") == "click").alias("clicks_7d"),
    )


def write_features(features: DataFrame, config: FeatureViewConfig) -> None:
    """Writes the view to the configured place."""
    write_table(features, config.output.path, config.output.partition_by)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point for `spark-submit`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="YAML file of the view")
    parser.add_argument("--as-of", required=True, help="cut-off, ISO 8601; UTC without an offset")
    args = parser.parse_args(argv)
    as_of = datetime.fromisoformat(args.as_of)
    as_of = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)

    config = FeatureViewConfig.from_yaml(args.config)
    spark = build_session(config.name)
    write_features(build_features(load_tables(spark, config), as_of), config)


if __name__ == "__main__":
    main()
