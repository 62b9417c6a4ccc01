"""Higher-order functions over arrays and maps."""

from collections.abc import Callable, Sequence
from functools import cmp_to_key, partial
from itertools import zip_longest
from typing import Any, NamedTuple

from sqlglot import exp

from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.functions.nested import from_pairs
from palmette.features.oracle.registry import BY_SYNTAX, FUNCTIONS, Build, element_of
from palmette.features.oracle.typed import EvaluationScope, TypedExpression
from palmette.features.spec.type_rules import BOOLEAN, INT, STRING, array_of
from palmette.features.spec.values import SparkType


class _Lambda(NamedTuple):
    """A compiled lambda: its result type, and a function of the row and the parameters."""

    kind: SparkType
    call: Callable[..., Any]


def _lambda(node: exp.Expr, kinds: Sequence[SparkType], scope: EvaluationScope, build: Build) -> _Lambda:
    if not isinstance(node, exp.Lambda):
        raise NotCovered(f"{node.sql(dialect='spark')} as a lambda")
    arguments: list[Any] = [None] * len(kinds)
    """Arguments of the current call; a lambda never calls itself."""

    def parameter(place: int) -> TypedExpression:
        return TypedExpression(kinds[place], lambda _: arguments[place])

    names = {each.name: parameter(place) for place, each in enumerate(node.expressions[: len(kinds)])}
    body = build(node.this, EvaluationScope(scope.schema, scope.zone, scope.groups, {**scope.bound, **names}))

    def call(row: Any, *values: Any) -> Any:
        arguments[:] = values
        return body.run(row)

    return _Lambda(body.kind, call)


def _over(
    collection: str,
    shape: Callable[[Any, Callable[..., Any]], Any],
    result: Callable[[SparkType, SparkType], SparkType],
    nodes: Sequence[exp.Expr],
    scope: EvaluationScope,
    build: Build,
) -> TypedExpression:
    """Compiles a function of a collection and a lambda.

    Args:
        collection: `map`, `array`, or `pairs` for an array of which the lambda takes two elements.
        shape: computes the value from the collection's and a function of the lambda's parameters.
        result: the type, given the collection's type and the lambda's.
    """
    item = build(nodes[0], scope)
    element = element_of(item, "map" if collection == "map" else "array")
    kinds = {"map": [STRING, element], "array": [element, INT], "pairs": [element, element]}[collection]
    function = _lambda(nodes[1], kinds, scope, build)

    def run(row: Any) -> Any:
        values = item.run(row)
        return None if values is None else shape(values, partial(function.call, row))

    return TypedExpression(result(item.kind, function.kind), run)


def _any_is(wanted: bool, values: Sequence[Any], test: Callable[[Any], Any]) -> bool | None:
    """`wanted` if the test gives it for any value, else null if any result is null, else `not wanted`."""
    answers = [test(value) for value in values]
    return wanted if wanted in answers else None if None in answers else not wanted


def _sorted(values: list[Any], compare: Callable[[Any, Any], Any]) -> list[Any]:
    def order(one: Any, other: Any) -> int:
        place = compare(one, other)
        if place is None:
            raise WouldFail("the order of array_sort is null")
        return int(place)

    return sorted(values, key=cmp_to_key(order))


def _aggregate(nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    item, start = build(nodes[0], scope), build(nodes[1], scope)
    merge = _lambda(nodes[2], [start.kind, element_of(item)], scope, build)
    finish = _lambda(nodes[3], [start.kind], scope, build) if len(nodes) > 3 else None
    if merge.kind != start.kind:
        raise NotCovered(f"an aggregate that starts with {start.kind} and goes on with {merge.kind}")

    def run(row: Any) -> Any:
        values, state = item.run(row), start.run(row)
        if values is None:
            return None
        for value in values:
            state = merge.call(row, state, value)
        return finish.call(row, state) if finish else state

    return TypedExpression(finish.kind if finish else start.kind, run)


def _zip_with(nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    items = [build(node, scope) for node in nodes[:2]]
    combine = _lambda(nodes[2], [element_of(item) for item in items], scope, build)

    def run(row: Any) -> Any:
        lists = [item.run(row) for item in items]
        return None if None in lists else [combine.call(row, *pair) for pair in zip_longest(*lists)]

    return TypedExpression(array_of(combine.kind), run)


def _array_sort(nodes: Sequence[exp.Expr], scope: EvaluationScope, build: Build) -> TypedExpression:
    """Sorts by the given comparison, or in natural order with nulls last."""
    if len(nodes) > 1:
        return _over("pairs", _sorted, _same, nodes, scope, build)
    return FUNCTIONS["array_sort"]([build(nodes[0], scope)], scope)


def _same(kind: SparkType, _: SparkType) -> SparkType:
    return kind


def _with_keys(kind: SparkType, key: SparkType) -> SparkType:
    if key != STRING:
        raise NotCovered("a map with keys that are not text")
    return kind


def _kept(values: list[Any], test: Callable[..., Any]) -> list[Any]:
    return [value for place, value in enumerate(values) if test(value, place) is True]


def _changed(values: list[Any], change: Callable[..., Any]) -> list[Any]:
    return [change(value, place) for place, value in enumerate(values)]


def _kept_entries(items: dict[str, Any], test: Callable[..., Any]) -> dict[str, Any]:
    return {key: value for key, value in items.items() if test(key, value) is True}


def _changed_keys(items: dict[str, Any], change: Callable[..., Any]) -> dict[str, Any]:
    return from_pairs([(change(key, value), value) for key, value in items.items()])


def _changed_values(items: dict[str, Any], change: Callable[..., Any]) -> dict[str, Any]:
    return {key: change(key, value) for key, value in items.items()}


BY_SYNTAX |= {
    "transform": partial(_over, "array", _changed, lambda _, kind: array_of(kind)),
    "filter": partial(_over, "array", _kept, _same),
    "exists": partial(_over, "array", partial(_any_is, True), lambda *_: BOOLEAN),
    "forall": partial(_over, "array", partial(_any_is, False), lambda *_: BOOLEAN),
    "map_filter": partial(_over, "map", _kept_entries, _same),
    "transform_keys": partial(_over, "map", _changed_keys, _with_keys),
    "transform_values": partial(_over, "map", _changed_values, lambda _, kind: SparkType("map", element=kind)),
    "array_sort": _array_sort,
    "aggregate": _aggregate,
    "reduce": _aggregate,
    "zip_with": _zip_with,
}
