"""What is redeemed in a category of offers.

Grain: category
Inputs: offers, redemptions
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import publish
from recsys_features.lib.frames import overwrite, read, session
from recsys_features.lib.times import known
from recsys_features.settings import ViewSettings

GRAIN = ["category"]
COLUMNS = {"redemptions_28d": "bigint", "largest_amount_28d": "decimal(12,2)"}


def read_inputs(spark: SparkSession, settings: ViewSettings) -> dict[str, DataFrame]:
    """The tables of the settings, by name."""
    return {source.table: read(spark, source.path, source.format) for source in settings.inputs}


def compute(inputs: dict[str, DataFrame], cutoff: datetime) -> DataFrame:
    """A row for each category in which something was redeemed in the last 28 days."""
    rows = known(inputs["redemptions"], cutoff, "redeemed_at", "loaded_at", days=28)
    offers = inputs["offers"].where(F.col("category").isNotNull())
    sales = (
        rows.withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .join(offers.select("offer_id", "category"), on="offer_id", how="inner")
        .groupBy("category")
        .agg(F.count("*").alias("redemptions_28d"), F.max("amount").alias("largest_amount_28d"))
    )
    return publish(sales, cutoff, GRAIN, COLUMNS)


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
