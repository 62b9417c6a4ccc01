"""How many users an offer reaches.

Grain: offer_id
Inputs: offer_interactions
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, publish, ratio
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["offer_id"]
COLUMNS = {"viewers_30d": "bigint", "clickers_30d": "bigint", "click_share_30d": "double"}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each offer that somebody has met in the last 30 days."""
    rows = known(inputs["offer_interactions"], cutoff, "occurred_at", "loaded_at", 30, "day")
    reach = rows.groupBy("offer_id").agg(
        distinct_where("user_id", F.col("kind") == "view").alias("viewers_30d"),
        distinct_where("user_id", F.col("kind") == "click").alias("clickers_30d"),
    )
    shares = reach.withColumn("click_share_30d", ratio(F.col("clickers_30d"), F.col("viewers_30d")))
    return publish(shares, cutoff, GRAIN, COLUMNS, counts=["viewers_30d", "clickers_30d"])


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
