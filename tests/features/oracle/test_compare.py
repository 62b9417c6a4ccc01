"""Comparing outputs: what is a difference, and what is not."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from palmette.features.frame import Frame
from palmette.features.frames import scenarios
from palmette.features.oracle import differences, expected
from palmette.features.oracle.compare import alike
from palmette.features.spec.resolve import load_view
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
VIEW = load_view(OFFERS / "specs" / "user_offer_redemptions.yaml", OFFERS / "registry.yaml")
SCENARIO = scenarios(VIEW)[0]
OUTPUT = expected(VIEW, SCENARIO.frames, SCENARIO.as_of)


@pytest.mark.parametrize(("kind", "one", "other", "same"), [
    ("double", 1.0, 1.0 + 1e-12, True), ("double", 1.0, 1.0 + 1e-6, False), ("double", math.nan, math.nan, True),
    ("double", None, 0.0, False), ("float", 1.0, 1.000001, True), ("bigint", 1, 2, False),
    ("array<double>", [1.0, None], [1.0, None], True), ("array<double>", [1.0], [1.0, 2.0], False),
    ("array<double>", [1.0, 2.0], [2.0, 1.0], False),
])  # fmt: skip
def test_values(kind: str, one: object, other: object, same: bool) -> None:
    assert alike(SparkType.parse(kind), one, other) is same


def test_the_order_of_rows_is_no_difference() -> None:
    assert differences(OUTPUT, OUTPUT.with_rows(OUTPUT.rows[::-1]), VIEW) == ()


def test_a_missing_a_surplus_and_a_changed_row_are_named() -> None:
    first, *rest = OUTPUT.rows
    name = VIEW.features[0].name
    assert [each.got for each in differences(OUTPUT, OUTPUT.with_rows(rest), VIEW)] == ["no such row"]
    assert [each.got for each in differences(OUTPUT, OUTPUT.with_rows([first, *OUTPUT.rows]), VIEW)] == ["2 rows"]
    (changed,) = differences(OUTPUT, OUTPUT.with_rows([{**first, name: 99}, *rest]), VIEW)
    assert (changed.column, changed.got, dict(changed.key)) == (
        name, 99, {key: first[key] for key in (*VIEW.grain, "as_of")})  # fmt: skip


def test_a_column_of_another_type_or_place_is_a_difference() -> None:
    name = VIEW.features[0].name
    retyped = Frame({**OUTPUT.schema, name: SparkType("int")}, OUTPUT.rows)
    assert [each.column for each in differences(OUTPUT, retyped, VIEW)] == [name]
    assert differences(OUTPUT, Frame.of(dict(reversed(OUTPUT.schema.items())), OUTPUT.rows), VIEW)


@pytest.mark.parametrize(("amounts", "tenths", "same"), [
    ((0.1, 0.2, 0.3), 6, True), ((0.1, 0.2, 0.3), 7, True), ((0.1, 0.2, 0.3), 8, False),
    ((1.0, 2.0, 0.5), 35, True), ((1.0, 2.0, 0.5), 36, False), ((1.0, 2.0, 0.5), 34, False),
])  # fmt: skip
def test_what_the_order_of_adding_can_bring_about_is_no_difference(
    amounts: tuple[float, ...], tenths: int, same: bool, user_offers: Callable[..., View]
) -> None:
    """0.1 + 0.2 + 0.3 is 0.6 or 0.6000000000000001, so its tenths, rounded up, are 6 or 7."""
    total = {"function": "sum", "source": "redemptions", "of": "amount"}
    view = user_offers(features=[
        {"name": "total", "dtype": "double", "internal": True, "aggregate": total},
        {"name": "tenths", "dtype": "bigint", "derive": "ceil(total * 10)"}])  # fmt: skip
    at = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [{"id": i, "user_id": 1, "amount": each, "redeemed_at": at, "loaded_at": at}
            for i, each in enumerate(amounts)]  # fmt: skip
    frames = {"redemptions": Frame.of(view.source("redemptions").table.column_types, rows)}
    right = expected(view, frames, at + timedelta(days=1))
    actual = right.with_rows([{**right.rows[0], "tenths": tenths}])
    assert (differences(right, actual, view) == ()) is same


@pytest.mark.parametrize(("dtype", "sql", "value", "same"), [
    ("string", "CASE WHEN approx_count_distinct(amount) > 3 THEN 'many' ELSE 'few' END", "few", False),
    ("decimal(12,1)", "approx_count_distinct(amount) * 1.5", Decimal("30.0"), True),
])  # fmt: skip
def test_what_is_computed_from_an_approximate_count_is_compared_by_its_type(
    dtype: str, sql: str, value: object, same: bool, user_offers: Callable[..., View]
) -> None:
    of = {"sql": sql, "source": "redemptions"}
    view = user_offers(features=[{"name": "amounts", "dtype": dtype, "expression": of}])
    row = {"user_id": 1, "as_of": datetime(2024, 1, 1, tzinfo=UTC)}
    other = "many" if isinstance(value, str) else Decimal("28.5")
    one, two = (Frame.of(view.output, [{**row, "amounts": each}]) for each in (value, other))
    assert (differences(one, two, view) == ()) is same


@pytest.mark.parametrize(("count", "got", "same"), [
    (0, 0, True), (1, 1, True), (1, 0, False), (1, 2, False), (2, 1, True), (6, 5, True), (6, 4, False), (6, 7, False),
    (20, 17, True), (20, 16, False), (20, 23, True), (20, 24, False),
])  # fmt: skip
def test_an_approximate_count_may_take_two_values_for_one(
    count: int, got: int, same: bool, user_offers: Callable[..., View]
) -> None:
    distinct = {"function": "approx_count_distinct", "source": "redemptions", "of": "amount"}
    view = user_offers(features=[{"name": "amounts", "dtype": "bigint", "aggregate": distinct}])
    at = datetime(2024, 1, 1, tzinfo=UTC)
    row = {"user_id": 1, "as_of": at}
    assert (differences(Frame.of(view.output, [{**row, "amounts": count}]),
                        Frame.of(view.output, [{**row, "amounts": got}]), view) == ()) is same  # fmt: skip
