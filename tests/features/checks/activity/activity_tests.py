"""Tests of the hand-written script: boundaries, defaults, absent customers."""

from datetime import UTC, datetime, timedelta

from activity import build

T = datetime(2024, 3, 31, tzinfo=UTC)
ORDERS = (
    "order_id bigint, customer_id bigint, ordered_at timestamp, loaded_at timestamp, "
    "amount double, gross double, order_day date"
)


def rows(spark, *orders):
    given = [(n, 1, at, known, 2.5, 9.0, at.date()) for n, (at, known) in enumerate(orders)]
    customers = spark.createDataFrame([(1, "DE"), (2, "FR")], "customer_id bigint, country string")
    built = build(spark.createDataFrame(given, ORDERS), customers, T)
    return {row.customer_id: row for row in built.collect()}


def test_known_orders_count(spark):
    before = T - timedelta(days=3)
    found = rows(spark, (before, before), (before, before))
    assert (found[1].orders_30d, found[1].amount_30d) == (2, 5.0)


def test_a_customer_without_orders_has_none(spark):
    found = rows(spark, (T - timedelta(days=3), T - timedelta(days=3)))
    assert (found[2].orders_30d, found[2].amount_30d) == (0, None)


def test_boundaries(spark):
    start, early = T - timedelta(days=30), T - timedelta(days=31)
    found = rows(spark, (start, start), (early, early), (T, start), (start, T))
    assert found[1].orders_30d == 1


def test_the_day_is_the_last_before_the_cutoff(spark):
    assert str(rows(spark, (T - timedelta(days=1), T - timedelta(days=1)))[1].day) == "2024-03-30"
