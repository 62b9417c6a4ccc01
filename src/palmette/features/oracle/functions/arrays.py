# ruff: noqa: ARG001, ARG005 - entries of one table all take the same arguments

"""Array functions, and element access for arrays and maps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.typed import (
    FUNCTIONS,
    EvaluationScope,
    TypedExpression,
    builder,
    common,
    lift,
    order_key,
    same,
    to,
    unify,
)
from palmette.features.spec import type_rules as c
from palmette.features.spec.type_rules import BOOLEAN, INT, STRING, array_of
from palmette.features.spec.values import SparkType


def element_of(item: TypedExpression) -> SparkType:
    if item.kind.name != "array" or item.kind.element is None:
        raise NotCovered(f"an array function of {item.kind}")
    return item.kind.element


def subscript(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """`array[i]` counts from 0 and fails out of range; `map[key]` is null for a missing key."""
    item, place = arguments
    if item.kind.name == "map" and item.kind.element:
        return lift(item.kind.element, [item, to(place, STRING, scope.zone)], lambda values, key: values.get(key))
    return lift(element_of(item), [item, to(place, INT, scope.zone)], _at)


def _at(values: list[Any], index: int) -> Any:
    if not 0 <= index < len(values):
        raise WouldFail(f"there is no element {index} among {len(values)}")
    return values[index]


def _element_at(safe: bool, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Counts from 1, or from the end if negative."""
    item, place = arguments
    if item.kind.name == "map":
        return subscript(arguments, scope)

    def pick(values: list[Any], index: int) -> Any:
        place = index - 1 if index > 0 else len(values) + index
        if index == 0:
            raise WouldFail("element_at counts from 1")
        return None if safe and not 0 <= place < len(values) else _at(values, place)

    return lift(element_of(item), [item, to(place, INT, scope.zone)], pick)


FUNCTIONS["element_at"] = partial(_element_at, False)
FUNCTIONS["try_element_at"] = partial(_element_at, True)


@builder("get")
def get(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Counts from 0; null out of range."""
    items = [arguments[0], to(arguments[1], INT, scope.zone)]
    return lift(element_of(items[0]), items, lambda values, i: values[i] if 0 <= i < len(values) else None)


for _name in ("size", "cardinality", "array_size"):
    FUNCTIONS[_name] = lambda arguments, scope: lift(INT, arguments[:1], len)


@builder("array")
def array(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, items = unify(arguments, scope.zone)
    return TypedExpression(array_of(kind), lambda row: [item.run(row) for item in items])


@builder("array_contains")
def array_contains(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind = common(element_of(arguments[0]), arguments[1].kind)

    def contains(values: list[Any], wanted: Any) -> bool | None:
        if any(value is not None and same(value, wanted) for value in values):
            return True
        return None if None in values else False

    return lift(BOOLEAN, [to(arguments[0], array_of(kind), scope.zone), to(arguments[1], kind, scope.zone)], contains)


@builder("array_position")
def array_position(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    def position(values: list[Any], wanted: Any) -> int:
        return next((i for i, value in enumerate(values, 1) if value is not None and same(value, wanted)), 0)

    return lift(c.BIGINT, arguments, position)


def _unary(
    function: Callable[[list[Any]], Any], arguments: list[TypedExpression], scope: EvaluationScope
) -> TypedExpression:
    element_of(arguments[0])
    return lift(arguments[0].kind, arguments[:1], function)


def _distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(_key(value) == _key(other) for other in kept):
            kept.append(value)
    return kept


def _key(value: Any) -> tuple[Any, ...]:
    """A sort key that puts nulls first."""
    return (value is not None, order_key(value) if value is not None else None)


def _of_two(
    function: Callable[[list[Any], list[Any]], Any], arguments: list[TypedExpression], scope: EvaluationScope
) -> TypedExpression:
    """Compiles a function of two arrays, cast to their common type."""
    kind, items = unify(arguments, scope.zone)
    element_of(items[0])
    return lift(kind, items, function)


def _among(value: Any, values: list[Any]) -> bool:
    return any(_key(value) == _key(other) for other in values)


FUNCTIONS["array_union"] = partial(_of_two, lambda one, other: _distinct(one + other))
FUNCTIONS["array_intersect"] = partial(
    _of_two, lambda one, other: _distinct([value for value in one if _among(value, other)])
)
FUNCTIONS["array_except"] = partial(
    _of_two, lambda one, other: _distinct([value for value in one if not _among(value, other)])
)


@builder("arrays_overlap")
def arrays_overlap(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Null if the arrays have no common non-null value and one of them contains null."""

    def overlap(one: list[Any], other: list[Any]) -> bool | None:
        if any(value is not None and _among(value, other) for value in one):
            return True
        return None if one and other and (None in one or None in other) else False

    return lift(BOOLEAN, unify(arguments, scope.zone)[1], overlap)


def _with_one(
    function: Callable[[list[Any], Any], list[Any]], arguments: list[TypedExpression], scope: EvaluationScope
) -> TypedExpression:
    """Compiles a function of an array and a value, which may be null."""
    kind = common(element_of(arguments[0]), arguments[1].kind)
    array, value = to(arguments[0], array_of(kind), scope.zone).run, to(arguments[1], kind, scope.zone).run
    return TypedExpression(
        array_of(kind), lambda row: None if (values := array(row)) is None else function(values, value(row))
    )


FUNCTIONS["array_append"] = partial(_with_one, lambda values, value: [*values, value])
FUNCTIONS["array_prepend"] = partial(_with_one, lambda values, value: [value, *values])


@builder("array_remove")
def array_remove(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind = common(element_of(arguments[0]), arguments[1].kind)
    items = [to(arguments[0], array_of(kind), scope.zone), to(arguments[1], kind, scope.zone)]
    return lift(
        items[0].kind, items, lambda values, one: [each for each in values if each is None or not same(each, one)]
    )


@builder("array_repeat")
def array_repeat(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    value, count = arguments[0].run, to(arguments[1], INT, scope.zone).run
    return TypedExpression(
        array_of(arguments[0].kind), lambda row: None if (times := count(row)) is None else [value(row)] * times
    )


@builder("sequence")
def sequence(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Whole numbers from start to stop, both included."""
    kind, items = unify(arguments, scope.zone)
    if not kind.is_integer:
        raise NotCovered(f"a sequence of {kind}")

    def steps(start: int, stop: int, step: int | None = None) -> list[int]:
        by = (1 if start <= stop else -1) if step is None else step
        if by == 0 and start == stop:
            return [start]
        if by == 0 or (stop - start) * by < 0:
            raise WouldFail(f"a sequence from {start} to {stop} by {by}")
        return list(range(start, stop + (1 if by > 0 else -1), by))

    return lift(array_of(kind), items, steps)


@builder("reverse")
def backwards(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Reverses an array or a text."""
    item = arguments[0] if arguments[0].kind.element else to(arguments[0], STRING, scope.zone)
    return lift(item.kind, [item], lambda value: value[::-1])


FUNCTIONS["array_distinct"] = partial(_unary, _distinct)
FUNCTIONS["array_compact"] = partial(_unary, lambda values: [value for value in values if value is not None])
FUNCTIONS["array_sort"] = partial(_unary, lambda values: sorted(values, key=lambda value: (value is None, _key(value))))


@builder("sort_array")
def sort_array(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Ascending with nulls first, or descending with nulls last."""
    descending = len(arguments) > 1 and not arguments[1].value()
    return _unary(lambda values: sorted(values, key=_key, reverse=descending), arguments, scope)


def _extreme(pick: Any, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    def best(values: list[Any]) -> Any:
        known = [value for value in values if value is not None]
        return pick(known, key=order_key) if known else None

    return lift(element_of(arguments[0]), arguments, best)


FUNCTIONS["array_max"] = partial(_extreme, max)
FUNCTIONS["array_min"] = partial(_extreme, min)


@builder("slice")
def part(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    def cut(values: list[Any], start: int, length: int) -> list[Any]:
        if start == 0 or length < 0:
            raise WouldFail("slice counts from 1 and takes no negative length")
        begin = start - 1 if start > 0 else len(values) + start
        return values[begin : begin + length] if begin >= 0 else []

    places = [to(item, INT, scope.zone) for item in arguments[1:]]
    return lift(arguments[0].kind, [arguments[0], *places], cut)


@builder("array_join")
def array_join(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Skips nulls unless a third argument replaces them."""

    def joined(values: list[Any], separator: str, null: str | None = None) -> str:
        shown = (null if value is None else value for value in values)
        return separator.join(value for value in shown if value is not None)

    return lift(STRING, [to(arguments[0], array_of(STRING), scope.zone), *arguments[1:]], joined)


@builder("flatten")
def flatten(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return lift(
        element_of(arguments[0]),
        arguments,
        lambda values: None if None in values else [item for value in values for item in value],
    )
