"""Vectors of counterparties: by kind of booking, by age, some missing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from pyspark.sql import Row, SparkSession

from recsys_features.views.usr_dda_txn_fasttext_ftrs_agg import compute

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
ONES, FOURS = [1.0] * 8, [4.0] * 8


def row(days_ago: int, counterparty: str | None, kind: str | None = "transfer") -> tuple:
    return (1, date(2025, 4, 1) - timedelta(days=days_ago), kind, counterparty)


def features(spark: SparkSession, *rows: tuple) -> Row:
    inputs = {
        "account_transactions": spark.createDataFrame(
            rows, "user_id bigint, booked_on date, kind string, counterparty string"
        ),
        "merchant_embeddings": spark.createDataFrame(
            [("m1", ONES), ("m4", FOURS), ("m9", None)],
            "merchant_key string, vector array<float>",
        ),
    }
    [found] = compute(inputs, CUTOFF).drop("as_of").collect()
    return found


def test_kinds_have_vectors_of_their_own(spark: SparkSession) -> None:
    rows = [row(5, "A*B*m1", "card"), row(5, "A*B*m4", "card"), row(5, "A*B*m4", "direct_debit")]
    found = features(spark, *rows, row(5, "A", None))
    assert (found.bookings_90d, found.card_bookings_90d, found.debits_90d) == (4, 2, 1)
    assert (found.card_vector_90d, found.debit_vector_90d) == ([2.5] * 8, FOURS)
    assert (found.card_share_90d, found.debit_share_90d) == (0.5, 0.25)


def test_without_a_kind_or_vector(spark: SparkSession) -> None:
    found = features(spark, row(5, "A*B*m9", "card"), row(5, "A*B*unknown", "card"), row(5, None))
    assert (found.counterparties_90d, found.vectors_90d, found.vector_share_90d) == (2, 0, 0.0)
    assert (found.card_vector_90d, found.recent_vector_90d) == (None, None)
    assert (found.debits_90d, found.debit_vector_90d, found.debit_share_90d) == (0, None, 0.0)


def test_age_halves_within_whole_days(spark: SparkSession) -> None:
    rows = [row(14, "A*B*m1"), row(28, "A*B*m4"), row(0, "A*B*m4"), row(91, "A*B*m4")]
    found = features(spark, *rows, row(90, None))
    assert found.bookings_90d == 3
    assert [round(value, 5) for value in found.recent_vector_90d] == [2.0] * 8
