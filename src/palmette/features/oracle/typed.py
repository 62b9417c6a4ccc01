"""A compiled expression, and the registry of functions that compile one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle import coercion as c
from palmette.features.oracle.casts import cast
from palmette.features.oracle.errors import NotCovered
from palmette.features.spec.values import SparkType

Run = Callable[[Any], Any]
"""Row (or, above an aggregate, rows) to value."""


@dataclass(frozen=True)
class Typed:
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


class Held(dict[str, SparkType]):
    """Columns with their types. Some are lost: a step had no answer for them; asking for one says why."""

    def __init__(self, columns: Mapping[str, SparkType], lost: Mapping[str, str]) -> None:
        super().__init__({name: kind for name, kind in columns.items() if name not in lost})
        self.lost = lost

    def __missing__(self, name: str) -> SparkType:
        raise NotCovered(self.lost.get(name, f"the column {name!r} that does not exist"))


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: the columns it can see and the zone of its days and hours."""

    schema: Mapping[str, SparkType]
    zone: ZoneInfo
    groups: bool = False
    """True above aggregate functions: `run` receives all rows of a group."""
    bound: Mapping[str, SparkType] = field(default_factory=dict)
    """Parameters of the lambdas around it."""


def constant(value: Any, kind: SparkType) -> Typed:
    return Typed(kind, lambda _: value, literal=True)


def to(item: Typed, target: SparkType, zone: ZoneInfo) -> Typed:
    """The implicit cast."""
    if item.kind == target:
        return item
    source, run = item.kind, item.run
    return Typed(target, lambda row: cast(run(row), source, target, zone), item.literal)


def unify(items: list[Typed], zone: ZoneInfo) -> tuple[SparkType, list[Typed]]:
    """All items in their common type."""
    kind = c.NULL
    for item in items:
        kind = c.common(kind, item.kind)
    return kind, [to(item, kind, zone) for item in items]


def order_key(value: Any) -> Any:
    """Sorts as Spark does: NaN above all numbers and equal to itself, -0.0 like 0.0, arrays element by element."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return [(item is not None, order_key(item) if item is not None else None) for item in value]
    if isinstance(value, bool | int) or hasattr(value, "as_tuple"):
        return (0, value)
    return value


def same(left: Any, right: Any) -> bool:
    return bool(order_key(left) == order_key(right))


Builder = Callable[[list[Typed], Scope], Typed]
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
    names: str,
    parameters: tuple[SparkType, ...],
    result: SparkType,
    *,
    optional: int = 0,
    zoned: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a plain function: null when any argument is null, arguments cast to `parameters`.

    The last `optional` parameters may be left out; with `zoned` the zone is the first argument.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def build(arguments: list[Typed], scope: Scope) -> Typed:
            if not len(parameters) - optional <= len(arguments) <= len(parameters):
                raise NotCovered(f"{names.split()[0]} with {len(arguments)} arguments")
            runs = [to(item, kind, scope.zone).run for item, kind in zip(arguments, parameters, strict=False)]
            first = (scope.zone,) if zoned else ()

            def run(row: Any) -> Any:
                values = [each(row) for each in runs]
                return None if any(value is None for value in values) else function(*first, *values)

            return Typed(result, run, bool(arguments) and all(item.literal for item in arguments))

        for name in names.split():
            FUNCTIONS[name] = build
        return function

    return register
