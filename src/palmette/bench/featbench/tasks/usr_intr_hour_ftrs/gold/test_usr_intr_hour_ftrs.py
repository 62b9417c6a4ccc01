"""Hours and days of Lisbon, whose clocks went forward on 30 March."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from recsys_features.views.usr_intr_hour_ftrs import compute

LISBON = ZoneInfo("Europe/Lisbon")
CUTOFF = datetime(2025, 4, 1, tzinfo=LISBON).astimezone(UTC)
SECOND = timedelta(seconds=1)
SCHEMA = (
    "interaction_id bigint, user_id bigint, kind string, occurred_at timestamp, "
    "loaded_at timestamp, day date"
)


def row(at: datetime, number: int = 1, user: int | None = 1, kind: str = "view", **given) -> tuple:
    at = at.astimezone(UTC)
    return (number, user, kind, at, given.get("loaded", at), at.date())


def local(month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2025, month, day, hour, minute, tzinfo=LISBON)


def features(spark: SparkSession, *rows: tuple) -> list[tuple]:
    frame = compute({"offer_interactions": spark.createDataFrame(rows, SCHEMA)}, CUTOFF)
    return [tuple(one) for one in frame.drop("user_id", "as_of").collect()]


def test_windows_begin_at_the_local_midnight(spark: SparkSession) -> None:
    starts = [local(3, 25), local(3, 4)]
    rows = [row(at, number) for number, at in enumerate(starts)]
    rows += [row(at.astimezone(UTC) - SECOND, 9 + n) for n, at in enumerate(starts)]
    [found] = features(spark, *rows)
    assert (found[0], found[7]) == (3, 1)
    assert found[1:4] == (2, 0, 1), "the one before the week's first midnight is of an evening"


def test_hours_before_and_after_the_change(spark: SparkSession) -> None:
    rows = [
        row(datetime(2025, 3, 29, 5, 59, tzinfo=UTC), 1),
        row(datetime(2025, 3, 30, 5, 0, tzinfo=UTC), 2),
        row(datetime(2025, 3, 30, 17, 0, tzinfo=UTC), 3),
        row(datetime(2025, 3, 30, 17, 0, tzinfo=UTC), 3),
        row(datetime(2025, 3, 30, 23, 0, tzinfo=UTC), 4),
    ]
    [found] = features(spark, *rows)
    assert found[:5] == (4, 2, 1, 1, 3), "the last is of Monday's first hour"
    assert found[5:7] == (3, 4)
    assert found[7:] == (4, 3, 1, 0.25, 0.75)


def test_only_what_was_known_counts(spark: SparkSession) -> None:
    at = local(3, 10, 12)
    rows = [
        row(at, 1),
        row(at, 2, loaded=CUTOFF),
        row(CUTOFF, 3),
        row(at, 4, user=None),
        row(at, 5, kind="dismiss"),
    ]
    assert features(spark, *rows) == [(1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0.0, 0.0)]
