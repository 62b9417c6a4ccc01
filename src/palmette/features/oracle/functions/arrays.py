# ruff: noqa: ARG001, ARG005 - entries of one table all take the same arguments

"""Functions of arrays and maps, with lambdas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp

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

Build = Callable[[exp.Expr, EvaluationScope], TypedExpression]


def _element(item: TypedExpression) -> SparkType:
    if item.kind.name != "array" or item.kind.element is None:
        raise NotCovered(f"an array function of {item.kind}")
    return item.kind.element


def subscript(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """`array[i]` from 0, which must exist; `map[key]`, null where there is no such key."""
    item, place = arguments
    if item.kind.name == "map" and item.kind.element:
        return lift(item.kind.element, [item, to(place, STRING, scope.zone)], lambda values, key: values.get(key))
    return lift(_element(item), [item, to(place, INT, scope.zone)], _at)


def _at(values: list[Any], index: int) -> Any:
    if not 0 <= index < len(values):
        raise WouldFail(f"there is no element {index} among {len(values)}")
    return values[index]


def _element_at(safe: bool, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
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
def get(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """From 0; null outside."""
    items = [arguments[0], to(arguments[1], INT, scope.zone)]
    return lift(_element(items[0]), items, lambda values, i: values[i] if 0 <= i < len(values) else None)


for _name in ("size", "cardinality", "array_size"):
    FUNCTIONS[_name] = lambda arguments, scope: lift(INT, arguments[:1], len)
FUNCTIONS["map_keys"] = lambda arguments, scope: lift(array_of(STRING), arguments, list)


@builder("array")
def array(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, items = unify(arguments, scope.zone)
    return TypedExpression(array_of(kind), lambda row: [item.run(row) for item in items])


@builder("array_contains")
def array_contains(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind = common(_element(arguments[0]), arguments[1].kind)

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
    _element(arguments[0])
    return lift(arguments[0].kind, arguments[:1], function)


def _distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(_key(value) == _key(other) for other in kept):
            kept.append(value)
    return kept


def _key(value: Any) -> tuple[Any, ...]:
    """Sorts nulls first."""
    return (value is not None, order_key(value) if value is not None else None)


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

    return lift(_element(arguments[0]), arguments, best)


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
    if len(arguments) > 2:
        raise NotCovered("array_join with a replacement for nulls")
    return lift(
        STRING,
        [to(arguments[0], array_of(STRING), scope.zone), arguments[1]],
        lambda values, separator: separator.join(value for value in values if value is not None),
    )


@builder("flatten")
def flatten(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return lift(
        _element(arguments[0]),
        arguments,
        lambda values: None if None in values else [item for value in values for item in value],
    )


class _Lambda(NamedTuple):
    """A function of the row and its parameters, and the type of what it gives."""

    kind: SparkType
    call: Callable[..., Any]


def _lambda(node: exp.Expr, kinds: list[SparkType], scope: EvaluationScope, build: Build) -> _Lambda:
    if not isinstance(node, exp.Lambda):
        raise NotCovered(f"{node.sql(dialect='spark')} as a lambda")
    names = [parameter.name for parameter in node.expressions]
    inner = EvaluationScope(
        scope.schema, scope.zone, scope.groups, {**scope.bound, **dict(zip(names, kinds, strict=False))}
    )
    body = build(node.this, inner)
    return _Lambda(body.kind, lambda row, *values: body.run({**row, **dict(zip(names, values, strict=False))}))


def _over(
    shape: Callable[[list[Any], Callable[[Any], Any]], Any],
    result: SparkType | None,
    nodes: list[exp.Expr],
    scope: EvaluationScope,
    build: Build,
) -> TypedExpression:
    item = build(nodes[0], scope)
    test = _lambda(nodes[1], [_element(item)], scope, build)

    def run(row: Any) -> Any:
        values = item.run(row)
        return None if values is None else shape(values, lambda value: test.call(row, value))

    return TypedExpression(result or item.kind, run)


def _transform(nodes: list[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    item = build(nodes[0], scope)
    change = _lambda(nodes[1], [_element(item), INT], scope, build)

    def run(row: Any) -> Any:
        values = item.run(row)
        return None if values is None else [change.call(row, value, i) for i, value in enumerate(values)]

    return TypedExpression(array_of(change.kind), run)


def _any_is(wanted: bool, values: list[Any], test: Callable[[Any], Any]) -> bool | None:
    """Whether the test gives the wanted answer for any value; else null if some answer is null."""
    answers = [test(value) for value in values]
    return wanted if wanted in answers else None if None in answers else not wanted


def _aggregate(nodes: list[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
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

    return TypedExpression(finish.kind if finish else start.kind, run)


HIGHER_ORDER: dict[str, Callable[[list[exp.Expr], EvaluationScope, Build], TypedExpression]] = {
    "transform": _transform,
    "filter": partial(_over, lambda values, test: [value for value in values if test(value) is True], None),
    "exists": partial(_over, partial(_any_is, True), BOOLEAN),
    "forall": partial(_over, partial(_any_is, False), BOOLEAN),
    "aggregate": _aggregate,
    "reduce": _aggregate,
}
"""Functions that take lambdas."""
