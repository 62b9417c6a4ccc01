"""How a user has answered recommendations whose two weeks are over.

Grain: user_id
Inputs: recommendations
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import days_before, known
from recsys_features.settings import ViewSettings

GRAIN = ["user_id"]
COLUMNS = {
    "shown_90d": "bigint",
    "open_14d": "bigint",
    "closed_90d": "bigint",
    "redeemed_90d": "bigint",
    "redeemed_share_90d": "double",
    "redeemed_score_90d": "double",
    "days_since_shown_90d": "int",
}
HORIZON = timedelta(days=14)


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each user to whom something was recommended in the window."""
    closed, redeemed = F.col("closed_90d"), F.col("redeemed_90d")
    features = (
        shown(inputs["recommendations"], cutoff)
        .withColumn("redeemed_share_90d", ratio(redeemed, closed))
        .withColumn("redeemed_score_90d", ratio(redeemed + 1, closed + 5))
    )
    return publish(features, cutoff, GRAIN, COLUMNS)


def shown(rows: DataFrame, cutoff: datetime) -> DataFrame:
    """Recommendations of a user; a label is known when the two weeks that it is about are over."""
    days = F.floor(days_before(cutoff, F.max("shown_at")))
    return (
        known(rows, cutoff, "shown_at", days=90)
        .withColumn("is_closed", F.col("shown_at") < F.lit(cutoff - HORIZON))
        .groupBy("user_id")
        .agg(
            F.count("*").alias("shown_90d"),
            F.count_if(~F.col("is_closed")).alias("open_14d"),
            F.count_if("is_closed").alias("closed_90d"),
            F.count_if(F.col("is_closed") & F.col("redeemed")).alias("redeemed_90d"),
            days.alias("days_since_shown_90d"),
        )
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
