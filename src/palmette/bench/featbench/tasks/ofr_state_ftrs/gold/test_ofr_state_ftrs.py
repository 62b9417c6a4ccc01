"""Offer states: the newest one before the end of the day, whatever is missing in it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.ofr_state_ftrs import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def features(spark: SparkSession, days: list[tuple], states: list[tuple]) -> list[tuple]:
    offers = [(number, "home", first, end) for number, (first, end) in enumerate(days, start=1)]
    inputs = {
        "offers": spark.createDataFrame(
            offers, "offer_id bigint, category string, starts_on date, ends_on date"
        ),
        "offer_states": spark.createDataFrame(
            states,
            "offer_id bigint, taken_at timestamp, status string, budget_left decimal(12,2)",
        ),
    }
    found = compute(inputs, CUTOFF).drop("as_of", "category").collect()
    return sorted((tuple(one) for one in found), key=lambda row: row[0])


def test_the_newest_state_before_the_end_of_the_day(spark: SparkSession) -> None:
    states = [
        (1, CUTOFF - 14 * DAY, "paused", Decimal("5.00")),
        (1, CUTOFF - 7 * DAY, "live", None),
        (1, CUTOFF, "exhausted", Decimal("0.00")),
    ]
    april = (date(2025, 3, 31), date(2025, 4, 30))
    assert features(spark, [april, (None, None)], states) == [
        (1, "live", None, 7, 1, 29, True, date(2025, 3, 31)),
        (2, None, None, None, None, None, False, date(2025, 3, 31)),
    ]


def test_only_a_live_offer_on_one_of_its_days_is_open(spark: SparkSession) -> None:
    last, over = date(2025, 4, 1), date(2025, 3, 31)
    days = [(over, last), (last, date(2025, 5, 1)), (date(2025, 1, 1), over)]
    states = [(number, CUTOFF - DAY, "live", None) for number in (1, 2, 3)]
    assert [row[4:7] for row in features(spark, days, states)] == [
        (1, 0, True),
        (0, 30, False),
        (90, -1, False),
    ]
    paused = [(1, CUTOFF - DAY, "paused", None)]
    assert [row[6] for row in features(spark, days[:1], paused)] == [False]
