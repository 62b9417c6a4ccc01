"""What was known at the cut-off."""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def known(
    frame: DataFrame,
    cutoff: datetime,
    event_time: str,
    arrival: str | None = None,
    days: int | None = None,
    partition: str | None = None,
) -> DataFrame:
    """The rows of the `days` before the cut-off (all, without it) that had arrived before it.

    `partition` is the column with the day of the event, where the table is partitioned by it.
    """
    rows = frame.where(F.col(event_time) < F.lit(cutoff))
    if days is not None:
        start = cutoff - timedelta(days=days)
        rows = rows.where(F.col(event_time) >= F.lit(start))
        if partition is not None:
            rows = rows.where(F.col(partition).between(F.lit(start.date()), F.lit(cutoff.date())))
    return rows if arrival is None else rows.where(F.col(arrival) < F.lit(cutoff))


def days_before(cutoff: datetime, instant: Column) -> Column:
    """24-hour days from an instant to the cut-off, with a fraction; a date is its midnight."""
    past = F.unix_micros(instant.cast("timestamp"))
    return (F.unix_micros(F.lit(cutoff)) - past) / F.lit(86_400_000_000)
