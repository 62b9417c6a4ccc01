"""Vectors of merchants: means by kind, weights, merchants without a vector."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import Row, SparkSession

from recsys_features.views.ofr_intr_mrch_fasttext_emb_ftrs_agg import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ONES, FOURS = [1.0] * 8, [4.0] * 8
INTERACTIONS = (
    "offer_id bigint, kind string, merchant_key string, dwell_ms string, occurred_at timestamp, "
    "loaded_at timestamp, day date"
)


def row(kind: str, merchant: str | None, dwell: str | None = None, **changes) -> tuple:
    at = changes.get("at", CUTOFF - DAY)
    return (7, kind, merchant, dwell, at, changes.get("loaded", at), at.date())


def features(spark: SparkSession, *rows: tuple) -> Row:
    merchants = [("m1", ONES), ("m4", FOURS), ("m9", None)]
    inputs = {
        "offer_interactions": spark.createDataFrame(rows, INTERACTIONS),
        "merchant_embeddings": spark.createDataFrame(
            merchants, "merchant_key string, vector array<float>"
        ),
    }
    [found] = compute(inputs, CUTOFF).drop("as_of").collect()
    return found


def test_means_by_kind(spark: SparkSession) -> None:
    rows = [row("view", "m1"), row("view", "m1"), row("view", "m4"), row("click", "m4")]
    found = features(spark, *rows)
    assert (found.viewed_vector_30d, found.clicked_vector_30d) == ([2.0] * 8, FOURS)
    assert (found.views_30d, found.clicks_30d, found.click_rate_30d) == (3, 1, 1 / 3)
    assert (found.merchants_30d, found.clicked_merchant_share_30d) == (2, 0.5)


def test_merchants_without_a_vector_count_but_not_in_means(spark: SparkSession) -> None:
    rows = [row("view", "m9"), row("view", "m1"), row("view", "unknown"), row("view", None)]
    found = features(spark, *rows)
    assert (found.interactions_30d, found.vectors_30d, found.viewed_vector_30d) == (3, 1, ONES)
    assert (found.clicks_30d, found.clicked_vector_30d) == (0, None)
    assert (found.dwell_vector_30d, found.click_rate_30d) == (None, 0.0)


def test_stays_weigh(spark: SparkSession) -> None:
    rows = [
        row("view", "m1", "2000"),
        row("save", "m4", "1000"),
        row("view", "m4", "n/a"),
        row("view", "m9", "3000"),
    ]
    found = features(spark, *rows)
    assert (found.dwell_seconds_30d, found.dwell_vector_30d) == (6.0, [2.0] * 8)
    assert found.dwell_per_interaction_30d == 1.5


def test_only_what_was_known_in_the_window_counts(spark: SparkSession) -> None:
    rows = [
        row("view", "m1", at=CUTOFF - 30 * DAY),
        row("view", "m4", at=CUTOFF - 30 * DAY - timedelta(seconds=1)),
        row("view", "m4", at=CUTOFF),
        row("view", "m4", loaded=CUTOFF),
    ]
    assert features(spark, *rows).viewed_vector_30d == ONES
