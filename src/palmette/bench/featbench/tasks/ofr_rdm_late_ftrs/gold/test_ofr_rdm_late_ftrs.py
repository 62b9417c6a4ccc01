"""Late redemptions: what had arrived by the end of the day, and how late it was."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.ofr_rdm_late_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
SCHEMA = "offer_id bigint, amount string, redeemed_at timestamp, loaded_at timestamp"


def row(age: timedelta, delay: timedelta, amount: str | None = "5.00") -> tuple:
    return (7, amount, CUTOFF - age, CUTOFF - age + delay)


def features(spark: SparkSession, *rows: tuple, cutoff: datetime = CUTOFF) -> list[tuple]:
    frame = compute({"redemptions": spark.createDataFrame(rows, SCHEMA)}, cutoff)
    return [tuple(one) for one in frame.drop("offer_id", "as_of").collect()]


def test_a_row_is_in_the_day_after_its_arrival(spark: SparkSession) -> None:
    rows = [row(2 * DAY, HOUR), row(2 * DAY, 2 * DAY), row(3 * DAY, 2 * DAY)]
    [today] = features(spark, *rows)
    [tomorrow] = features(spark, *rows, cutoff=CUTOFF + DAY)
    assert (today[0], today[-1]) == (2, date(2025, 3, 31))
    assert (tomorrow[0], tomorrow[-1]) == (3, date(2025, 4, 1))


def test_delays(spark: SparkSession) -> None:
    rows = [
        row(7 * DAY, HOUR - timedelta(seconds=1), "n/a"),
        row(7 * DAY + HOUR, HOUR),
        row(28 * DAY, 23 * HOUR),
        row(28 * DAY, 24 * HOUR),
        row(28 * DAY + HOUR, timedelta(0)),
    ]
    [found] = features(spark, *rows)
    assert found[:4] == (1, 1, 1, 0.25)
    assert found[4:7] == (12.0, 24.0, Decimal("15.00"))
    assert found[7] == 5 and found[9] == 0.2
    assert found[8] == 7 * 24 - 1 + 1 / 3600


def test_what_is_kept_and_no_longer_kept(spark: SparkSession) -> None:
    first, gone = row(730 * DAY, HOUR), row(730 * DAY + HOUR, HOUR)
    hours = 730 * 24.0 - 1
    day = date(2025, 3, 31)
    assert features(spark, first, gone) == [
        (0, 0, 0, None, None, None, None, 1, hours, 0.0, day),
    ]
    assert features(spark, gone) == []
