"""Array functions, element access for arrays and maps, and the largest and smallest of several values."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from palmette.features.oracle import typed
from palmette.features.oracle.casts import to_single
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.typed import FUNCTIONS, EvaluationScope, TypedExpression, builder, element_of, function
from palmette.features.spec.type_rules import INT, STRING, array_of


def subscript(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """`array[i]` counts from 0 and fails out of range; `map[key]` is null for a missing key."""
    item, place = arguments
    if item.kind.name == "map" and item.kind.element:
        return typed.lift(item.kind.element, [item, typed.to(place, STRING, scope.zone)], dict.get)
    return typed.lift(element_of(item), [item, typed.to(place, INT, scope.zone)], _at)


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

    return typed.lift(element_of(item), [item, typed.to(place, INT, scope.zone)], pick)


FUNCTIONS["element_at"] = partial(_element_at, False)
FUNCTIONS["try_element_at"] = partial(_element_at, True)


def _distinct(values: list[Any]) -> list[Any]:
    kept: dict[Any, Any] = {}
    for value in values:
        kept.setdefault(typed.order_key(value), value)
    return list(kept.values())


def _among(value: Any, values: list[Any]) -> bool:
    return any(typed.same(value, other) for other in values)


function("size|cardinality|array_size(T) -> int")(len)
function("array(T?...) -> [T]", nulls=True)(lambda *values: list(values))
function("array_distinct([T]) -> [T]")(_distinct)
function("array_compact([T]) -> [T]")(lambda values: [value for value in values if value is not None])
function("array_sort([T]) -> [T]")(lambda items: sorted(items, key=lambda each: (each is None, typed.order_key(each))))
function("array_union([T], [T]) -> [T]")(lambda one, other: _distinct(one + other))
function("array_intersect([T], [T]) -> [T]")(lambda one, two: _distinct([each for each in one if _among(each, two)]))
function("array_except([T], [T]) -> [T]")(lambda one, two: _distinct([each for each in one if not _among(each, two)]))
function("array_append([T], T) -> [T]", nulls=True)(lambda items, one: None if items is None else [*items, one])
function("array_prepend([T], T) -> [T]", nulls=True)(lambda items, one: None if items is None else [one, *items])
function("array_remove([T], T) -> [T]")(lambda items, one: [each for each in items if not typed.same(each, one)])
function("array_repeat(T, int) -> [T]", nulls=True)(lambda value, times: None if times is None else [value] * times)
function("flatten([[T]]) -> [T]")(lambda lists: None if None in lists else [each for items in lists for each in items])
function("array_contains([T], T) -> boolean")(
    lambda values, wanted: _among(wanted, values) or (None if None in values else False)
)
function("array_position([T], T) -> bigint")(
    lambda values, wanted: next((place for place, value in enumerate(values, 1) if typed.same(value, wanted)), 0)
)
function("sort_array([T], boolean?) -> [T]")(
    lambda values, ascending=True: sorted(values, key=typed.nulls_first, reverse=not ascending)
)


@function("arrays_overlap([T], [T]) -> boolean")
def arrays_overlap(one: list[Any], other: list[Any]) -> bool | None:
    """Null if the arrays have no common non-null value and one of them contains null."""
    if any(value is not None and _among(value, other) for value in one):
        return True
    return None if one and other and (None in one or None in other) else False


@builder("sequence")
def sequence(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Whole numbers from start to stop, both included."""
    kind, items = typed.unify(arguments, scope.zone)
    if not kind.is_integer:
        raise NotCovered(f"a sequence of {kind}")

    def steps(start: int, stop: int, step: int | None = None) -> list[int]:
        by = (1 if start <= stop else -1) if step is None else step
        if by == 0 and start == stop:
            return [start]
        if by == 0 or (stop - start) * by < 0:
            raise WouldFail(f"a sequence from {start} to {stop} by {by}")
        return list(range(start, stop + (1 if by > 0 else -1), by))

    return typed.lift(array_of(kind), items, steps)


@builder("reverse")
def backwards(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Reverses an array or a text."""
    item = arguments[0] if arguments[0].kind.element else typed.to(arguments[0], STRING, scope.zone)
    return typed.lift(item.kind, [item], lambda value: value[::-1])


def _extreme(pick: Any, values: Sequence[Any]) -> Any:
    return pick((value for value in values if value is not None), key=typed.order_key, default=None)


function("array_max([T]) -> T")(partial(_extreme, max))
function("array_min([T]) -> T")(partial(_extreme, min))
function("greatest(T...) -> T", nulls=True)(lambda *values: _extreme(max, values))
function("least(T...) -> T", nulls=True)(lambda *values: _extreme(min, values))


def _of_vectors(combine: Callable[[list[float], list[float]], float], one: list[Any], other: list[Any]) -> float:
    if len(one) != len(other) or None in (*one, *other):
        raise NotCovered("vectors of different lengths, or with nulls")
    return to_single(combine(one, other))


def _inner_product(one: list[float], other: list[float]) -> float:
    return math.fsum(map(operator.mul, one, other))


def _cosine(one: list[float], other: list[float]) -> float:
    if not any(one) or not any(other):
        raise NotCovered("the cosine of a vector of zeros")
    return _inner_product(one, other) / math.hypot(*one) / math.hypot(*other)


for _name, _function in (("inner_product", _inner_product), ("cosine_similarity", _cosine), ("l2_distance", math.dist)):
    function(f"vector_{_name}([float], [float]) -> float")(partial(_of_vectors, _function))


@function("slice([T], int, int) -> [T]")
def part(values: list[Any], start: int, length: int) -> list[Any]:
    if start == 0 or length < 0:
        raise WouldFail("slice counts from 1 and takes no negative length")
    begin = start - 1 if start > 0 else len(values) + start
    return values[begin : begin + length] if begin >= 0 else []


@function("array_join([string], string, string?) -> string")
def array_join(values: list[Any], separator: str, null: str | None = None) -> str:
    """Skips nulls unless a third argument replaces them."""
    shown = (null if value is None else value for value in values)
    return separator.join(value for value in shown if value is not None)
