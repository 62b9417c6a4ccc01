"""The expected output of a view, without features that the oracle does not cover, and how outputs differ."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from palmette.features.frame import Frame
from palmette.features.oracle.states import sort_key
from palmette.features.spec.fsc import Aggregate, Expression
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF, View


@dataclass(frozen=True)
class ExpectedFrame(Frame):
    """The rows of a view; schema and rows lack the features that were skipped."""

    skipped: Mapping[str, str] = field(default_factory=dict)
    """Feature to the reason why the oracle has no answer for it; internal features too."""
    nudged: Callable[[], tuple[Frame, ...]] = field(default=tuple, compare=False, repr=False)
    """The rows, in the same order, as they might be if sums of doubles came out another way in their last digits."""

    def judged(self, other: Frame) -> Frame:
        """The columns of another output that the oracle has an answer for."""
        return Frame.of({name: kind for name, kind in other.schema.items() if name not in self.skipped}, other.rows)


def skipped_text(skipped: Mapping[str, str]) -> str:
    """The skipped features by name, each with its reason, for a check's detail; empty when there are none."""
    return "; ".join(f"{name} skipped: {reason}" for name, reason in skipped.items())


RELATIVE = {"double": 1e-9, "float": 1e-5}
APPROXIMATE_COUNT = 0.15
"""Three standard errors of Spark's default sketch (0.05), which also takes two of a few values for one now and then."""
MANY = 6
"""Rows with one key are matched in every order up to this many, in sorted order beyond."""


@dataclass(frozen=True)
class Difference:
    """One place where the outputs are not the same."""

    key: Mapping[str, Any]
    """Grain and cut-off of the row; empty when the difference is not about a row."""
    column: str
    """Empty when a whole row is missing or surplus."""
    expected: Any
    got: Any

    def __str__(self) -> str:
        place = ", ".join(f"{name}={value!r}" for name, value in self.key.items())
        subject = " · ".join(part for part in (place, self.column) if part)
        return f"{subject}: expected {self.expected!r}, got {self.got!r}"


def differences(expected: Frame, actual: Frame, view: View, limit: int = 5) -> tuple[Difference, ...]:
    """The first differences between two outputs, none when they are the same up to the order of rows.

    Columns must be the same in name, order and type. Rows are paired by grain, cut-off and kept columns; values are
    compared by type: doubles within 1e-9 of each other relatively, floats within 1e-5, NaN equal to NaN, arrays element
    by element, approximate aggregates within their guarantees, everything else exactly. Features that the oracle
    skipped do not count, and a value is right, too, if the order of adding doubles can bring it about.
    """
    compare = _Comparison(expected.schema, view)
    if not isinstance(expected, ExpectedFrame):
        return _differences(compare, expected, actual, limit)
    actual = expected.judged(actual)
    found = _differences(compare, expected, actual, limit)
    if not found or not (others := expected.nudged()):
        return found
    compare.others = {
        id(row): rows for row, *rows in zip(expected.rows, *(other.rows for other in others), strict=True)
    }
    return _differences(compare, expected, actual, limit)


def _differences(compare: _Comparison, expected: Frame, actual: Frame, limit: int) -> tuple[Difference, ...]:
    if found := _columns(expected, actual):
        return tuple(found[:limit])
    view = compare.view
    columns = (*view.grain, AS_OF, *view.kept)
    names = [name for name in columns if name in expected.schema and all(name in row for row in expected.rows)]
    theirs = _grouped(actual, names)
    for key, rows in _grouped(expected, names).items():
        found += compare.rows(
            {name: rows[0][name] for name in names if name not in view.kept or name in view.grain},
            rows,
            theirs.pop(key, []),
        )
        if len(found) >= limit:
            return tuple(found[:limit])
    for rows in theirs.values():
        found += [Difference({name: row[name] for name in names}, "", "no such row", _plain(row)) for row in rows]
    return tuple(found[:limit])


def _columns(expected: Frame, actual: Frame) -> list[Difference]:
    found = [
        Difference({}, name, str(kind), str(actual.schema[name]) if name in actual.schema else "no such column")
        for name, kind in expected.schema.items()
        if actual.schema.get(name) != kind
    ]
    found += [
        Difference({}, name, "no such column", str(kind))
        for name, kind in actual.schema.items()
        if name not in expected.schema
    ]
    if not found and list(expected.schema) != list(actual.schema):
        found.append(Difference({}, "", f"columns {', '.join(expected.schema)}", f"{', '.join(actual.schema)}"))
    return found


def _grouped(frame: Frame, names: Sequence[str]) -> dict[Any, list[Mapping[str, Any]]]:
    groups: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in frame.rows:
        groups[sort_key(_orderable(row[name]) for name in names)].append(row)
    return dict(groups)


def _orderable(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


class _Comparison:
    """Compares values column by column."""

    def __init__(self, schema: Mapping[str, SparkType], view: View) -> None:
        self.schema, self.view = schema, view
        self.others: Mapping[int, Sequence[Mapping[str, Any]]] = {}
        """By identity of an expected row: what it might be as well."""
        computations = {feature.name: feature.computation for feature in view.features}
        self.counts = {name for name, each in computations.items() if _is_approximate_count(each)}

    def rows(self, key: Mapping[str, Any], expected: list[Any], actual: list[Any]) -> list[Difference]:
        """Differences between the rows of one key, paired so that they are fewest."""
        if len(expected) != len(actual):
            wanted = _plain(expected[0]) if not actual else f"{len(expected)} rows"
            return [Difference(key, "", wanted, "no such row" if not actual else f"{len(actual)} rows")]
        if len(expected) == 1:
            return self.row(key, expected[0], actual[0])
        if len(expected) <= MANY:
            ways = (
                [each for pair in zip(expected, order, strict=True) for each in self.row(key, *pair)]
                for order in permutations(actual)
            )
            return min(ways, key=len)
        return self.in_order(key, expected, actual)

    def in_order(self, key: Mapping[str, Any], expected: list[Any], actual: list[Any]) -> list[Difference]:
        def place(row: Mapping[str, Any]) -> Any:
            return sort_key(_orderable(row[name]) for name in self.schema)

        together = zip(sorted(expected, key=place), sorted(actual, key=place), strict=True)
        return [each for one, other in together for each in self.row(key, one, other)]

    def row(self, key: Mapping[str, Any], expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[Difference]:
        return [
            Difference(key, name, expected[name], actual[name])
            for name, kind in self.schema.items()
            if name in expected
            and not any(
                self.alike(name, kind, each.get(name), actual[name])
                for each in (expected, *self.others.get(id(expected), ()))
            )
        ]

    def alike(self, name: str, kind: SparkType, expected: Any, actual: Any) -> bool:
        if expected is None or actual is None:
            return expected is None and actual is None
        if name in self.counts:
            error = APPROXIMATE_COUNT * expected
            return bool(expected - max(error, expected > 1) <= actual <= expected + error)
        return alike(kind, expected, actual)


def alike(kind: SparkType, expected: Any, actual: Any) -> bool:
    """Whether two values of a type are the same within its tolerance."""
    if expected is None or actual is None:
        return expected is None and actual is None
    if kind.name in RELATIVE:
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return math.isclose(expected, actual, rel_tol=RELATIVE[kind.name], abs_tol=RELATIVE[kind.name])
    if kind.name == "array" and kind.element is not None:
        element = kind.element
        return len(expected) == len(actual) and all(
            alike(element, one, other) for one, other in zip(expected, actual, strict=True)
        )
    if kind.name == "map" and kind.element is not None:
        element = kind.element
        return set(expected) == set(actual) and all(alike(element, expected[name], actual[name]) for name in expected)
    return bool(expected == actual)


def _is_approximate_count(computation: object) -> bool:
    match computation:
        case Aggregate(function="approx_count_distinct"):
            return True
        case Expression(sql=sql):
            return "approx_count_distinct" in sql.lower()
        case _:
            return False


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict(row)
