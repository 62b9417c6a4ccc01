# ruff: noqa: ARG001 - entries of one table all take the same arguments

"""Functions of arrays and maps, with lambdas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp

from palmette.features.oracle import coercion as c
from palmette.features.oracle.coercion import BOOLEAN, INT, STRING, array_of
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.functions.numbers import lift
from palmette.features.oracle.typed import FUNCTIONS, Scope, Typed, builder, order_key, same, to, unify
from palmette.features.spec.values import SparkType

Build = Callable[[exp.Expr, Scope], Typed]


def _element(item: Typed) -> SparkType:
    if item.kind.name != "array" or item.kind.element is None:
        raise NotCovered(f"an array function of {item.kind}")
    return item.kind.element


def subscript(arguments: list[Typed], scope: Scope) -> Typed:
    """`array[i]` from 0, which must exist; `map[key]`, null where there is no such key."""
    item, place = arguments
    if item.kind.name == "map" and item.kind.element:
        return lift(item.kind.element, [item, to(place, STRING, scope.zone)], lambda values, key: values.get(key))
    return lift(_element(item), [item, to(place, INT, scope.zone)], _at)


def _at(values: list[Any], index: int) -> Any:
    if not 0 <= index < len(values):
        raise WouldFail(f"there is no element {index} among {len(values)}")
    return values[index]


def _element_at(safe: bool, arguments: list[Typed], scope: Scope) -> Typed:
    """From 1, negative from the end."""
    item, place = arguments
    if item.kind.name == "map":
        return subscript(arguments, scope)

    def pick(values: list[Any], index: int) -> Any:
        place = index - 1 if index > 0 else len(values) + index
        if index == 0:
            raise WouldFail("element_at counts from 1")
        return None if safe and not 0 <= place < len(values) else _at(values, place)

    return lift(_element(item), [item, to(place, INT, scope.zone)], pick)


FUNCTIONS["element_at"] = partial(_element_at, False)
FUNCTIONS["try_element_at"] = partial(_element_at, True)


@builder("get")
def get(arguments: list[Typed], scope: Scope) -> Typed:
    """From 0; null outside."""
    item, place = arguments
    return lift(
        _element(item),
        [item, to(place, INT, scope.zone)],
        lambda values, index: values[index] if 0 <= index < len(values) else None,
    )


@builder("size", "cardinality", "array_size")
def size(arguments: list[Typed], scope: Scope) -> Typed:
    return lift(INT, arguments[:1], len)


@builder("array")
def array(arguments: list[Typed], scope: Scope) -> Typed:
    kind, items = unify(arguments, scope.zone)
    return Typed(array_of(kind), lambda row: [item.run(row) for item in items])


@builder("array_contains")
def array_contains(arguments: list[Typed], scope: Scope) -> Typed:
    kind = c.common(_element(arguments[0]), arguments[1].kind)

    def contains(values: list[Any], wanted: Any) -> bool | None:
        if any(value is not None and same(value, wanted) for value in values):
            return True
        return None if None in values else False

    return lift(BOOLEAN, [to(arguments[0], array_of(kind), scope.zone), to(arguments[1], kind, scope.zone)], contains)


@builder("array_position")
def array_position(arguments: list[Typed], scope: Scope) -> Typed:
    return lift(
        c.BIGINT,
        arguments,
        lambda values, wanted: next(
            (i for i, value in enumerate(values, 1) if value is not None and same(value, wanted)), 0
        ),
    )


def _unary(function: Callable[[list[Any]], Any], arguments: list[Typed], scope: Scope) -> Typed:
    _element(arguments[0])
    return lift(arguments[0].kind, arguments[:1], function)


def _distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(
            (value is None and other is None) or (value is not None and other is not None and same(value, other))
            for other in kept
        ):
            kept.append(value)
    return kept


FUNCTIONS["array_distinct"] = partial(_unary, _distinct)
FUNCTIONS["array_compact"] = partial(_unary, lambda values: [value for value in values if value is not None])


@builder("sort_array")
def sort_array(arguments: list[Typed], scope: Scope) -> Typed:
    """Ascending with nulls first, or descending with nulls last."""
    ascending = len(arguments) < 2 or bool(arguments[1].value())
    return _unary(
        lambda values: sorted(
            values,
            key=lambda value: (value is not None, order_key(value) if value is not None else None),
            reverse=not ascending,
        ),
        arguments,
        scope,
    )


@builder("array_sort")
def array_sort(arguments: list[Typed], scope: Scope) -> Typed:
    return _unary(
        lambda values: sorted(
            values, key=lambda value: (value is None, order_key(value) if value is not None else None)
        ),
        arguments,
        scope,
    )


def _extreme(pick: Any, arguments: list[Typed], scope: Scope) -> Typed:
    def best(values: list[Any]) -> Any:
        known = [value for value in values if value is not None]
        return pick(known, key=order_key) if known else None

    return lift(_element(arguments[0]), arguments, best)


FUNCTIONS["array_max"] = partial(_extreme, max)
FUNCTIONS["array_min"] = partial(_extreme, min)


@builder("slice")
def part(arguments: list[Typed], scope: Scope) -> Typed:
    def cut(values: list[Any], start: int, length: int) -> list[Any]:
        if start == 0 or length < 0:
            raise WouldFail("slice counts from 1 and takes no negative length")
        begin = start - 1 if start > 0 else len(values) + start
        return values[begin : begin + length] if begin >= 0 else []

    places = [to(item, INT, scope.zone) for item in arguments[1:]]
    return lift(arguments[0].kind, [arguments[0], *places], cut)


@builder("array_join")
def array_join(arguments: list[Typed], scope: Scope) -> Typed:
    if len(arguments) > 2:
        raise NotCovered("array_join with a replacement for nulls")
    return lift(
        STRING,
        [to(arguments[0], array_of(STRING), scope.zone), arguments[1]],
        lambda values, separator: separator.join(value for value in values if value is not None),
    )


@builder("flatten")
def flatten(arguments: list[Typed], scope: Scope) -> Typed:
    return lift(
        _element(arguments[0]),
        arguments,
        lambda values: None if None in values else [item for value in values for item in value],
    )


@builder("map_keys")
def map_keys(arguments: list[Typed], scope: Scope) -> Typed:
    return lift(array_of(STRING), arguments, list)


class _Lambda(NamedTuple):
    """A function of the row and its parameters, and the type of what it gives."""

    kind: SparkType
    call: Callable[..., Any]


def _lambda(node: exp.Expr, kinds: list[SparkType], scope: Scope, build: Build) -> _Lambda:
    if not isinstance(node, exp.Lambda):
        raise NotCovered(f"{node.sql(dialect='spark')} as a lambda")
    names = [parameter.name for parameter in node.expressions]
    inner = Scope(scope.schema, scope.zone, scope.groups, {**scope.bound, **dict(zip(names, kinds, strict=False))})
    body = build(node.this, inner)
    return _Lambda(body.kind, lambda row, *values: body.run({**row, **dict(zip(names, values, strict=False))}))


def _over(
    shape: Callable[[list[Any], Callable[[Any], Any]], Any],
    result: SparkType | None,
    nodes: list[exp.Expr],
    scope: Scope,
    build: Build,
) -> Typed:
    item = build(nodes[0], scope)
    test = _lambda(nodes[1], [_element(item)], scope, build)

    def run(row: Any) -> Any:
        values = item.run(row)
        return None if values is None else shape(values, lambda value: test.call(row, value))

    return Typed(result or item.kind, run)


def _transform(nodes: list[exp.Expr], scope: Scope, build: Build) -> Typed:
    item = build(nodes[0], scope)
    change = _lambda(nodes[1], [_element(item), INT], scope, build)

    def run(row: Any) -> Any:
        values = item.run(row)
        return None if values is None else [change.call(row, value, i) for i, value in enumerate(values)]

    return Typed(array_of(change.kind), run)


def _any_true(values: list[Any], test: Callable[[Any], Any]) -> bool | None:
    answers = [test(value) for value in values]
    return True if True in answers else None if None in answers else False


def _all_true(values: list[Any], test: Callable[[Any], Any]) -> bool | None:
    answers = [test(value) for value in values]
    return False if False in answers else None if None in answers else True


def _aggregate(nodes: list[exp.Expr], scope: Scope, build: Build) -> Typed:
    item, start = build(nodes[0], scope), build(nodes[1], scope)
    merge = _lambda(nodes[2], [start.kind, _element(item)], scope, build)
    finish = _lambda(nodes[3], [start.kind], scope, build) if len(nodes) > 3 else None

    def run(row: Any) -> Any:
        values, state = item.run(row), start.run(row)
        if values is None:
            return None
        for value in values:
            state = merge.call(row, state, value)
        return finish.call(row, state) if finish else state

    return Typed(finish.kind if finish else start.kind, run)


HIGHER_ORDER: dict[str, Callable[[list[exp.Expr], Scope, Build], Typed]] = {
    "transform": _transform,
    "filter": partial(_over, lambda values, test: [value for value in values if test(value) is True], None),
    "exists": partial(_over, _any_true, BOOLEAN),
    "forall": partial(_over, _all_true, BOOLEAN),
    "aggregate": _aggregate,
    "reduce": _aggregate,
}
"""Functions that take lambdas."""
