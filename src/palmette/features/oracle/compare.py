"""The expected output of a view, limited to the features that the oracle supports, and the comparison of outputs."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from palmette.features.frame import Frame
from palmette.features.oracle.states import sort_key
from palmette.features.spec import Aggregate, Expression, SparkType, View


@dataclass(frozen=True)
class ExpectedFrame(Frame):
    """The expected rows of a view; schema and rows omit skipped features."""

    skipped: Mapping[str, str] = field(default_factory=dict)
    """For each skipped feature, internal ones included, why the oracle does not support it."""
    nudged: Callable[[], tuple[Frame, ...]] = field(default=tuple, compare=False, repr=False)
    """The same rows with sums of doubles changed in their last digits, as another order of adding could do."""


def skipped_text(skipped: Mapping[str, str]) -> str:
    """Lists the skipped features with their reasons, for the detail of a check; empty if there are none."""
    return "; ".join(f"{name} skipped: {reason}" for name, reason in skipped.items())


RELATIVE = {"double": 1e-9, "float": 1e-5}
APPROXIMATE_COUNT = 0.15
"""Three standard errors (0.05 each) of Spark's default sketch, which can also merge two of a few values."""
MANY = 6
"""Up to this many rows with one key are matched in every possible order; more are matched in sorted order."""


@dataclass(frozen=True)
class Difference:
    """One difference between the outputs."""

    key: Mapping[str, Any]
    """Grain and cut-off of the row; empty if the difference does not concern a row."""
    column: str  # empty if a whole row is missing or unexpected
    expected: Any
    got: Any

    def __str__(self) -> str:
        place = ", ".join(f"{name}={value!r}" for name, value in self.key.items())
        subject = " · ".join(part for part in (place, self.column) if part)
        return f"{subject}: expected {self.expected!r}, got {self.got!r}"


class _Comparison:
    """Compares values column by column."""

    def __init__(self, schema: Mapping[str, SparkType], view: View) -> None:
        self.schema, self.view = schema, view
        self.others: Mapping[int, Sequence[Mapping[str, Any]]] = {}
        """By identity of an expected row: alternative values for it."""
        numbers = [feature for feature in view.features if feature.dtype.is_numeric]
        self.counts = {feature.name for feature in numbers if _is_approximate_count(feature.computation)}

    def rows(self, key: Mapping[str, Any], expected: list[Any], actual: list[Any]) -> list[Difference]:
        """The differences between the rows of one key, for the pairing with the fewest."""
        if len(expected) != len(actual):
            wanted = dict(expected[0]) if not actual else f"{len(expected)} rows"
            return [Difference(key, "", wanted, "no such row" if not actual else f"{len(actual)} rows")]
        orders: Iterable[Sequence[Any]] = permutations(actual)
        if len(expected) > MANY:
            expected, orders = self.in_order(expected), [self.in_order(actual)]
        ways = ([one for pair in zip(expected, order, strict=True) for one in self.row(key, *pair)] for order in orders)
        return min(ways, key=len)

    def in_order(self, rows: list[Any]) -> list[Any]:
        return sorted(rows, key=lambda row: sort_key(_orderable(row[name]) for name in self.schema))

    def row(self, key: Mapping[str, Any], expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[Difference]:
        rows = (expected, *self.others.get(id(expected), ()))
        return [
            Difference(key, name, expected[name], actual[name])
            for name, kind in self.schema.items()
            if name in expected and not any(self.alike(name, kind, row.get(name), actual[name]) for row in rows)
        ]

    def alike(self, name: str, kind: SparkType, expected: Any, actual: Any) -> bool:
        if name not in self.counts or expected is None or actual is None:
            return alike(kind, expected, actual)
        count = float(expected)
        error = APPROXIMATE_COUNT * count
        return bool(count - max(error, count > 1) <= actual <= count + error)


def differences(expected: Frame, actual: Frame, view: View, limit: int = 5) -> tuple[Difference, ...]:
    """The first differences between two outputs; none if they are equal apart from the order of rows.

    Columns must have the same names, order and types. Rows are paired by grain, cut-off and kept columns. Values are
    compared by type: doubles with a relative tolerance of 1e-9, floats 1e-5, NaN equal to NaN, arrays by element,
    approximate aggregates within their guarantees, everything else exactly. Skipped features are ignored. A value is
    also accepted if another order of adding doubles could produce it.
    """
    compare = _Comparison(expected.schema, view)
    if not isinstance(expected, ExpectedFrame):
        return _differences(compare, expected, actual, limit)
    supported = {name: kind for name, kind in actual.schema.items() if name not in expected.skipped}
    actual = Frame.of(supported, actual.rows)
    found = _differences(compare, expected, actual, limit)
    if not found or not (others := expected.nudged()):
        return found
    compare.others = {id(row): rows for row, *rows in zip(expected.rows, *(one.rows for one in others), strict=True)}
    return _differences(compare, expected, actual, limit)


def _differences(compare: _Comparison, expected: Frame, actual: Frame, limit: int) -> tuple[Difference, ...]:
    if found := _columns(expected, actual):
        return tuple(found[:limit])
    view = compare.view
    names = [name for name in view.identity if name in expected.schema and all(name in row for row in expected.rows)]
    theirs = _grouped(actual, names)
    for key, rows in _grouped(expected, names).items():
        shown = {name: rows[0][name] for name in names if name not in view.kept or name in view.grain}
        found += compare.rows(shown, rows, theirs.pop(key, []))
        if len(found) >= limit:
            return tuple(found[:limit])
    for rows in theirs.values():
        found += [Difference({name: row[name] for name in names}, "", "no such row", dict(row)) for row in rows]
    return tuple(found[:limit])


def _columns(expected: Frame, actual: Frame) -> list[Difference]:
    mine, theirs = (dict(zip(one, map(str, one.values()), strict=True)) for one in (expected.schema, actual.schema))
    unlike, none = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)], "no such column"
    found = [Difference({}, name, mine.get(name, none), theirs.get(name, none)) for name in unlike]
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


def alike(kind: SparkType, expected: Any, actual: Any) -> bool:
    """Whether two values are equal within the tolerance of their type."""
    if expected is None or actual is None:
        return expected is None and actual is None
    if kind.name in RELATIVE:
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return math.isclose(expected, actual, rel_tol=RELATIVE[kind.name], abs_tol=RELATIVE[kind.name])
    if kind.element is None:
        return bool(expected == actual)
    if len(expected) != len(actual):
        return False
    if kind.name == "array":
        return all(alike(kind.element, one, other) for one, other in zip(expected, actual, strict=True))
    return all(name in actual and alike(kind.element, expected[name], actual[name]) for name in expected)


def _is_approximate_count(computation: object) -> bool:
    if isinstance(computation, Expression):
        return "approx_count_distinct" in computation.sql.lower()
    return isinstance(computation, Aggregate) and computation.function == "approx_count_distinct"
