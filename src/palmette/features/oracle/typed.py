"""A compiled expression, and the registry of functions that compile one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from palmette.features.oracle.casts import cast
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec import type_rules as c
from palmette.features.spec.values import SparkType

Run = Callable[[Any], Any]
"""Row (or, above an aggregate, rows) to value."""


@dataclass(frozen=True)
class TypedExpression:
    """An expression with its type; `run` computes it."""

    kind: SparkType
    run: Run
    literal: bool = False
    """True for a constant written in the text."""

    def value(self) -> Any:
        """Of a constant."""
        if not self.literal:
            raise NotCovered("an argument that must be a constant, but is not")
        return self.run({})


class PartialSchema(dict[str, SparkType]):
    """Columns with their types. Some are lost: a step had no answer for them; accessing one raises the reason."""

    def __init__(self, columns: Mapping[str, SparkType], lost: Mapping[str, str]) -> None:
        super().__init__({name: kind for name, kind in columns.items() if name not in lost})
        self.lost = lost

    def __missing__(self, name: str) -> SparkType:
        raise NotCovered(self.lost.get(name, f"the column {name!r} that does not exist"))


@dataclass(frozen=True)
class EvaluationScope:
    """Where an expression stands: the columns it can see and the zone of its days and hours."""

    schema: Mapping[str, SparkType]
    zone: ZoneInfo
    groups: bool = False
    """True above aggregate functions: `run` receives all rows of a group."""
    bound: Mapping[str, TypedExpression] = field(default_factory=dict)
    """Parameters of the lambdas around it."""


def constant(value: Any, kind: SparkType) -> TypedExpression:
    return TypedExpression(kind, lambda _: value, literal=True)


def to(item: TypedExpression, target: SparkType, zone: ZoneInfo) -> TypedExpression:
    """The implicit cast."""
    if item.kind == target:
        return item
    source, run = item.kind, item.run
    return TypedExpression(target, lambda row: cast(run(row), source, target, zone), item.literal)


_TIMES = ("date", "timestamp_ntz", "timestamp")


def common(left: SparkType, right: SparkType) -> SparkType:
    """The type in which two values are compared, or that a choice between them has."""
    if left == right or right.name == "null":
        return left
    if left.name == "null":
        return right
    if left.is_numeric and right.is_numeric:
        return c.wider(left, right)
    if left.name in _TIMES and right.name in _TIMES:
        return SparkType(max(left.name, right.name, key=_TIMES.index))
    if "string" in (left.name, right.name):
        return _with_string(right if left.name == "string" else left)
    if left.name == right.name and left.element and right.element:
        return SparkType(left.name, element=common(left.element, right.element))
    if [name for name, _ in left.fields] == [name for name, _ in right.fields] and left.fields:
        pairs = zip(left.fields, right.fields, strict=True)
        return SparkType("struct", fields=tuple((name, common(one, other)) for (name, one), (_, other) in pairs))
    raise NotCovered(f"a common type of {left} and {right}")


def _with_string(other: SparkType) -> SparkType:
    if other.is_integer:
        return c.BIGINT
    if other.is_numeric:
        return c.DOUBLE
    if other.name in ("boolean", "binary", *_TIMES):
        return other
    raise NotCovered(f"a common type of string and {other}")


def lift(
    kind: SparkType, items: list[TypedExpression], function: Callable[..., Any], *, literal: bool = False
) -> TypedExpression:
    """A function of values: null when any argument is null; with `literal`, a constant of constants."""
    runs = [item.run for item in items]

    def run(row: Any) -> Any:
        values = [each(row) for each in runs]
        return None if any(value is None for value in values) else function(*values)

    return TypedExpression(kind, run, literal and bool(items) and all(item.literal for item in items))


def null_safe_equal(one: TypedExpression, other: TypedExpression, zone: ZoneInfo) -> TypedExpression:
    """Equality by which null equals null."""
    _, (left, right) = unify([one, other], zone)

    def run(row: Any) -> bool:
        a, b = left.run(row), right.run(row)
        return (a is None and b is None) if a is None or b is None else same(a, b)

    return TypedExpression(c.BOOLEAN, run)


def attempted(item: TypedExpression) -> TypedExpression:
    """The expression with null where Spark would raise."""

    def run(row: Any) -> Any:
        try:
            return item.run(row)
        except WouldFail:
            return None

    return TypedExpression(item.kind, run)


def unify(items: list[TypedExpression], zone: ZoneInfo) -> tuple[SparkType, list[TypedExpression]]:
    """All items in their common type."""
    kind = c.NULL
    for item in items:
        kind = common(kind, item.kind)
    return kind, [to(item, kind, zone) for item in items]


def order_key(value: Any) -> Any:
    """Sorts as Spark does: NaN above all numbers and equal to itself, -0.0 like 0.0, arrays and structs by element."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list | tuple):
        return [(item is not None, order_key(item) if item is not None else None) for item in value]
    if isinstance(value, bool | int) or hasattr(value, "as_tuple"):
        return (0, value)
    return value


def same(left: Any, right: Any) -> bool:
    return bool(order_key(left) == order_key(right))


Build = Callable[[exp.Expr, EvaluationScope], TypedExpression]
"""Compiles a node of a syntax tree."""
BY_SYNTAX: dict[str, Callable[[list[exp.Expr], EvaluationScope, Build], TypedExpression]] = {}
"""Row-wise functions that are compiled from the syntax of their arguments: lambdas, and names of fields."""
Builder = Callable[[list[TypedExpression], EvaluationScope], TypedExpression]
FUNCTIONS: dict[str, Builder] = {}
"""Row-wise functions by lower-case name."""


def builder(*names: str) -> Callable[[Builder], Builder]:
    """Registers a function that looks at types itself."""

    def register(build: Builder) -> Builder:
        for name in names:
            FUNCTIONS[name] = build
        return build

    return register


def strict(
    names: str, parameters: tuple[SparkType, ...], result: SparkType, *, optional: int = 0, zoned: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a plain function: null when any argument is null, arguments cast to `parameters`.

    The last `optional` parameters may be left out; with `zoned` the zone is the first argument.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def build(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
            if not len(parameters) - optional <= len(arguments) <= len(parameters):
                raise NotCovered(f"{names.split()[0]} with {len(arguments)} arguments")
            items = [to(item, kind, scope.zone) for item, kind in zip(arguments, parameters, strict=False)]
            call = partial(function, scope.zone) if zoned else function
            return lift(result, items, call, literal=True)

        for name in names.split():
            FUNCTIONS[name] = build
        return function

    return register
