"""Vectors of merchants: keys in descriptors, windows, weights that halve with age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import Row, SparkSession

from recsys_features.views.usr_card_txn_fasttext_ftrs_agg import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ONES, FOURS = [1.0] * 8, [4.0] * 8


def row(descriptor: str | None, at: datetime, loaded: datetime | None = None) -> tuple:
    return (1, descriptor, at, loaded or at)


def features(spark: SparkSession, *rows: tuple) -> Row:
    inputs = {
        "card_transactions": spark.createDataFrame(
            rows,
            "user_id bigint, descriptor string, authorised_at timestamp, posted_at timestamp",
        ),
        "merchant_embeddings": spark.createDataFrame(
            [("m1", ONES), ("m4", FOURS), ("m9", None)],
            "merchant_key string, vector array<float>",
        ),
    }
    [found] = compute(inputs, CUTOFF).drop("as_of").collect()
    return found


def test_keys_end_descriptors(spark: SparkSession) -> None:
    texts = ["CAFE*LYON*m1", "CAFE**m4", "CAFE", None, "CAFE*LYON*m9"]
    found = features(spark, *(row(text, CUTOFF - DAY) for text in texts))
    assert (found.purchases_90d, found.merchants_90d, found.vectors_90d) == (5, 3, 2)
    assert found.merchant_vector_90d == [2.5] * 8
    assert (found.vector_share_90d, found.variety_90d, found.recent_share) == (0.4, 0.6, 1.0)


def test_windows_are_half_open(spark: SparkSession) -> None:
    rows = [
        row("A*B*m1", CUTOFF - 30 * DAY),
        row("A*B*m4", CUTOFF - 90 * DAY),
        row("A*B*m4", CUTOFF - 90 * DAY - timedelta(seconds=1)),
        row("A*B*m4", CUTOFF),
        row("A*B*m4", CUTOFF - DAY, CUTOFF),
    ]
    found = features(spark, *rows)
    assert (found.purchases_90d, found.purchases_30d) == (2, 1)
    assert (found.merchant_vector_90d, found.merchant_vector_30d) == ([2.5] * 8, ONES)


def test_a_purchase_30_days_older_counts_half(spark: SparkSession) -> None:
    rows = [row("A*B*m1", CUTOFF - 100 * DAY), row("A*B*m4", CUTOFF - 130 * DAY)]
    found = features(spark, *rows)
    assert [round(value, 5) for value in found.recent_vector] == [2.0] * 8
    assert (found.purchases_90d, found.merchant_vector_90d, found.recent_share) == (0, None, None)
