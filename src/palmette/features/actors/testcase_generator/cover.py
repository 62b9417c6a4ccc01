"""Chooses a minimal set of parts of the adversarial scenarios that detects every deviation from the view."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any, NamedTuple

from palmette.features.actors.testcase_generator.deviations import DeviatingView
from palmette.features.frame import Frame
from palmette.features.frames.fixtures import EntityRows
from palmette.features.frames.keys import GRAIN, ColumnRef
from palmette.features.frames.row_factory import RowFactory
from palmette.features.frames.scenarios import NamedScenario
from palmette.features.oracle.compare import alike
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import ReferenceCache, expected
from palmette.features.oracle.states import sort_key
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import AS_OF, View

OVERHEAD = 2
"""Lines of a case beside its rows."""
TOLERANCE = 1e-5
"""The relative tolerance of `assertDataFrameEqual`."""
FEATURE_VALUES = ("value of ", "default of ")
"""Prefixes of entries of `CaseCandidate.detects` that refer to feature values."""


@dataclass(frozen=True)
class CaseCandidate:
    """A part of a scenario and what it detects."""

    scenario: str
    part: EntityRows
    cutoff: datetime
    detects: frozenset[str]
    """Deviations, and values that features take (`value of f`, `default of f`)."""

    @property
    def size(self) -> int:
        return sum(len(rows) for rows in self.part.rows.values())


class CaseInputs(NamedTuple):
    """The tables and the cut-off of a case."""

    frames: Mapping[str, Frame]
    as_of: datetime | None


Key = tuple[object, ...]
"""Identifies a row: its grain, then its cut-off if the output shows it."""
Place = tuple[Key, str]
"""A row and the feature that differs in it; the feature is empty if the row is missing or surplus."""


def key_of(view: View, row: Mapping[str, object]) -> Key:
    return sort_key([*(row[name] for name in view.grain), row.get(AS_OF)])


def candidates(factory: RowFactory, staged: NamedScenario, others: Sequence[DeviatingView]) -> Iterator[CaseCandidate]:
    """All parts of a scenario, with the deviations that they detect."""
    view, builder, scenario = factory.view, staged.builder, staged.scenario()
    inputs = CaseInputs(scenario.frames, scenario.as_of)
    try:
        right = expected(view, *inputs)
    except (NotCovered, WouldFail):
        return
    names = [feature.name for feature in view.features]
    order_dependent = {key[:-1] for other in right.nudged() for key, _ in different(view, right, other, names)}
    detects = feature_values(view, right)
    shared = ReferenceCache(scenario.frames)
    for other in others:
        for key, _ in differing(view, other, inputs, right, shared):
            detects.setdefault(key, set()).add(other.what)
    for part in builder.parts:
        own = _entities(factory, part)
        if not own & order_dependent:  # the expected value must not depend on the summation order of doubles
            found = frozenset[str]().union(*(what for key, what in detects.items() if key[:-1] in own))
            yield CaseCandidate(staged.name, part, builder.cutoff, found)


def differing(
    view: View, other: DeviatingView, inputs: CaseInputs, right: Frame, shared: ReferenceCache | None = None
) -> set[Place]:
    """Where the output of a deviating view differs; empty if it cannot be compared."""
    wrong = other.output(inputs.frames, inputs.as_of, right, shared)
    return set() if wrong is None else different(view, right, wrong, other.features)


def feature_values(view: View, output: Frame) -> dict[Key, set[str]]:
    """By row key: the features that have a value, and those at their default."""
    found: dict[Key, set[str]] = {}
    for row in output.rows:
        names = found.setdefault(key_of(view, row), set())
        for feature in view.public:
            if feature.name in row:
                plain = row[feature.name] in (None, feature.default)
                names.add(f"{'default' if plain else 'value'} of {feature.name}")
    return found


def different(view: View, right: Frame, wrong: Frame, names: Sequence[str]) -> set[Place]:
    """Where two outputs differ in the rows or in any of these features."""
    mine, theirs = _by_key(view, right), _by_key(view, wrong)
    compared = [name for name in names if name in right.schema and name in wrong.schema]
    found: set[Place] = set()
    for key in mine.keys() | theirs.keys():
        ones, others = mine.get(key, []), theirs.get(key, [])
        if len(ones) != len(others):
            found.add((key, ""))
        for one, other in zip(ones, others, strict=False):
            found |= {(key, name) for name in compared if _is_noticed(right.schema[name], one[name], other[name])}
    return found


def _is_noticed(kind: SparkType, one: Any, other: Any) -> bool:
    """Whether a test tells two values apart: `assertDataFrameEqual` ignores small differences of numbers."""
    is_close = isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=TOLERANCE)
    return not is_close and not alike(kind, one, other)


def _by_key(view: View, frame: Frame) -> dict[Key, list[Mapping[str, object]]]:
    found: dict[Key, list[Mapping[str, object]]] = {}
    for row in frame.rows:
        found.setdefault(key_of(view, row), []).append(row)
    return found


def _entities(factory: RowFactory, part: EntityRows) -> set[Key]:
    """The grain of every row of the part. If no table has all keys, all combinations of the keys found."""
    found = set()
    values: dict[str, dict[object, None]] = {key: {} for key in factory.view.grain}
    for name, rows in part.rows.items():
        table = factory.view.tables[name]
        linked = {factory.keys.link(table, column.name): column.name for column in reversed(table.columns)}
        columns = [linked.get(factory.keys.links[ColumnRef(GRAIN, key)]) for key in factory.view.grain]
        if None not in columns:
            found |= {sort_key([row[column] for column in columns if column]) for row in rows}
        for key, column in zip(factory.view.grain, columns, strict=True):
            values[key].update(dict.fromkeys(row[column] for row in rows if column))
    return found or {sort_key(each) for each in product(*values.values())}


def cover(found: Sequence[CaseCandidate], known: Iterable[str] = ()) -> list[CaseCandidate]:
    """Chooses candidates with few rows that together detect everything except what is `known`.

    Each chosen candidate keeps only the deviations that it was chosen for.
    """
    wanted = frozenset[str]().union(*(candidate.detects for candidate in found)).difference(known)
    left, missing, chosen = list(found), wanted, list[CaseCandidate]()
    while left and missing:
        best = max(left, key=lambda candidate: len(candidate.detects & missing) / (candidate.size + OVERHEAD))
        left.remove(best)
        chosen.append(best)
        missing -= best.detects
    for candidate in sorted(chosen, key=lambda candidate: -candidate.size):
        others = [other for other in chosen if other is not candidate]
        if wanted <= frozenset[str]().union(*(other.detects for other in others)):
            chosen = others  # candidates chosen later made it superfluous
    kept = []
    for candidate in chosen:
        kept.append(replace(candidate, detects=candidate.detects & wanted))
        wanted -= candidate.detects
    return kept


def concerns(factory: RowFactory, part: EntityRows, key: Sequence[object]) -> bool:
    """Whether a row with this grain is of the part."""
    return sort_key(key) in _entities(factory, part)
