"""Offer popularity: how often, by how many and for how much an offer is redeemed.

Grain: one row per `offer_id`.
Sources: offers, redemptions.
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
from offers.utils.session import build_session
from offers.utils.time import within_window

WINDOW_DAYS = 30


def load_tables(spark: SparkSession, config: FeatureViewConfig) -> dict[str, DataFrame]:
    """The tables of the configuration, by name."""
    return {
        name: read_table(spark, source.path, source.format)
        for name, source in config.sources.items()
    }


def build_features(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    """One row per offer, redeemed or not."""
    redeemed = redeemed_offers(visible_redemptions(tables["redemptions"], as_of))
    features = tables["offers"].join(redeemed, on="offer_id", how="left")
    return features.select(
        F.col("offer_id").cast(T.LongType()),
        F.lit(as_of).cast(T.TimestampType()).alias("as_of"),
        F.coalesce("redemptions_30d", F.lit(0)).cast(T.LongType()).alias("redemptions_30d"),
        F.coalesce("redeemers_30d", F.lit(0)).cast(T.LongType()).alias("redeemers_30d"),
        F.col("redeemed_amount_30d").cast(T.DecimalType(18, 2)),
        F.col("largest_amount_30d").cast(T.DecimalType(12, 2)),
    )


def visible_redemptions(redemptions: DataFrame, as_of: datetime) -> DataFrame:
    """Redemptions of the window that were available before the cut-off."""
    recent = within_window(redemptions, "redeemed_at", as_of, WINDOW_DAYS)
    return recent.where(F.col("available_at") < F.lit(as_of))


def redeemed_offers(redemptions: DataFrame) -> DataFrame:
    """Number, users and amounts of the redemptions of each offer."""
    return redemptions.groupBy("offer_id").agg(
        F.count("*").alias("redemptions_30d"),
        F.count_distinct("user_id").alias("redeemers_30d"),
        F.sum("amount").alias("redeemed_amount_30d"),
        F.max("amount").alias("largest_amount_30d"),
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
