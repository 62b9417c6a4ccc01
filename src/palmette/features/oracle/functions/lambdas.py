"""Higher-order functions over arrays and maps."""

from collections.abc import Callable, Sequence
from functools import cmp_to_key, partial
from itertools import count, zip_longest
from typing import Any, NamedTuple

from sqlglot import exp

from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.functions.nested import from_pairs, map_of
from palmette.features.oracle.typed import BY_SYNTAX, FUNCTIONS, Build, EvaluationScope, TypedExpression, element_of
from palmette.features.spec.type_rules import BOOLEAN, INT, STRING, array_of
from palmette.features.spec.values import SparkType


class _Lambda(NamedTuple):
    """A compiled lambda: its result type, and a function of the row and the parameters."""

    kind: SparkType
    call: Callable[..., Any]


def _lambda(node: exp.Expr, kinds: Sequence[SparkType], scope: EvaluationScope, build: Build) -> _Lambda:
    if not isinstance(node, exp.Lambda):
        raise NotCovered(f"{node.sql(dialect='spark')} as a lambda")
    arguments: list[Any] = [None] * len(kinds)  # arguments of the current call; a lambda never calls itself

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
    shape: Callable[[list[tuple[Any, Any]]], Any],
    result: Callable[[SparkType, SparkType], SparkType],
    nodes: Sequence[exp.Expr],
    scope: EvaluationScope,
    build: Build,
) -> TypedExpression:
    """Compiles a function of a collection and a lambda.

    Args:
        collection: `array`, whose lambda takes a value and its place, or `map`, whose lambda takes a key and its value.
        shape: computes the value from the lambda's results, each after its arguments.
        result: the type, given the collection's type and the lambda's.
    """
    item, is_map = build(nodes[0], scope), collection == "map"
    element = element_of(item, collection)
    function = _lambda(nodes[1], [STRING, element] if is_map else [element, INT], scope, build)

    def run(row: Any) -> Any:
        values = item.run(row)
        if values is None:
            return None
        entries = values.items() if is_map else zip(values, count())
        return shape([(entry, function.call(row, *entry)) for entry in entries])

    return TypedExpression(result(item.kind, function.kind), run)


def _any_is(wanted: bool, found: list[tuple[Any, Any]]) -> bool | None:
    """`wanted` if the lambda gives it for any value, else null if any result is null, else `not wanted`."""
    answers = [answer for _, answer in found]
    return wanted if wanted in answers else None if None in answers else not wanted


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
    item = build(nodes[0], scope)
    if len(nodes) == 1:
        return FUNCTIONS["array_sort"]([item], scope)
    compare = _lambda(nodes[1], [element_of(item)] * 2, scope, build)

    def order(row: Any, one: Any, other: Any) -> int:
        place = compare.call(row, one, other)
        if place is None:
            raise WouldFail("the order of array_sort is null")
        return int(place)

    def run(row: Any) -> Any:
        values = item.run(row)
        return None if values is None else sorted(values, key=cmp_to_key(partial(order, row)))

    return TypedExpression(item.kind, run)


def _with_keys(kind: SparkType, key: SparkType) -> SparkType:
    if key != STRING:
        raise NotCovered("a map with keys that are not text")
    return kind


_HIGHER_ORDER: dict[str, tuple[str, Callable[[list[Any]], Any], Callable[[SparkType, SparkType], SparkType]]] = {
    "transform": ("array", lambda made: [new for _, new in made], lambda _, kind: array_of(kind)),
    "filter": ("array", lambda made: [item for (item, _), keep in made if keep is True], lambda kind, _: kind),
    "exists": ("array", partial(_any_is, True), lambda *_: BOOLEAN),
    "forall": ("array", partial(_any_is, False), lambda *_: BOOLEAN),
    "map_filter": ("map", lambda made: {key: item for (key, item), keep in made if keep is True}, lambda kind, _: kind),
    "transform_keys": ("map", lambda made: from_pairs([(new, item) for (_, item), new in made]), _with_keys),
    "transform_values": ("map", lambda made: {key: new for (key, _), new in made}, lambda _, kind: map_of(kind)),
}
BY_SYNTAX |= {name: partial(_over, *parts) for name, parts in _HIGHER_ORDER.items()}
BY_SYNTAX |= {"array_sort": _array_sort, "aggregate": _aggregate, "reduce": _aggregate, "zip_with": _zip_with}
