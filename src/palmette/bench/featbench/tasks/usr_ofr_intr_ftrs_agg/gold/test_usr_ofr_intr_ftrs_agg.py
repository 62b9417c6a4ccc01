"""Interactions: repeated deliveries, two grains, rates of nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from recsys_features.views.usr_ofr_intr_ftrs_agg import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEMA = (
    "interaction_id bigint, user_id bigint, offer_id bigint, kind string, placement string, "
    "dwell_ms string, occurred_at timestamp, loaded_at timestamp, day date"
)


def row(number: int, kind: str, offer: int = 7, user: int | None = 1, **changes) -> tuple:
    at = changes.get("at", CUTOFF - DAY)
    placement, dwell = changes.get("placement", "home/list/1"), changes.get("dwell", "500")
    loaded = changes.get("loaded", at)
    return (number, user, offer, kind, placement, dwell, at, loaded, at.date())


def features(spark: SparkSession, *rows: tuple) -> list[tuple]:
    frame = compute({"offer_interactions": spark.createDataFrame(rows, SCHEMA)}, CUTOFF)
    return sorted(tuple(one) for one in frame.drop("as_of").collect())


def test_repeated_deliveries_count_once(spark: SparkSession) -> None:
    rows = [row(1, "view"), row(1, "view"), row(2, "view"), row(3, "click")]
    assert features(spark, *rows) == [(1, 7, 2, 1, 3, 0, 500, 1, 0.5, 1.0)]


def test_shares_are_of_all_clicks_of_the_user(spark: SparkSession) -> None:
    rows = [row(1, "click"), row(2, "click", offer=8), row(3, "click", offer=8)]
    assert [one[-1] for one in features(spark, *rows)] == [1 / 3, 2 / 3]
    assert [one[-2] for one in features(spark, *rows)] == [None, None]


def test_only_what_was_known_in_the_window_counts(spark: SparkSession) -> None:
    rows = [
        row(1, "view", at=CUTOFF - 30 * DAY, dwell="n/a"),
        row(2, "view", at=CUTOFF - 30 * DAY - timedelta(seconds=1)),
        row(3, "view", at=CUTOFF),
        row(4, "view", loaded=CUTOFF),
        row(5, "dismiss"),
        row(6, "view", user=None),
    ]
    assert features(spark, *rows) == [(1, 7, 1, 0, 1, 0, None, 0, 0.0, None)]


def test_long_interactions_and_surfaces(spark: SparkSession) -> None:
    rows = [
        row(1, "view", dwell="10000", placement="search"),
        row(2, "view", dwell="9999", placement=None),
    ]
    assert features(spark, *rows) == [(1, 7, 2, 0, 0, 1, 10000, 0, 0.0, None)]
