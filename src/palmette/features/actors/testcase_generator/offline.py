"""Chooses the cases and their rows by rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from palmette.features.actors.testcase_generator.cover import (
    FEATURE_VALUES,
    CaseCandidate,
    CaseInputs,
    candidates,
    cover,
    differing,
    feature_values,
)
from palmette.features.actors.testcase_generator.deviations import DeviatingView, deviants
from palmette.features.artefacts import TestCase
from palmette.features.frame_json import decode_row, encode_row, frame_of_unit_test, timestamp_of, timestamp_text
from palmette.features.frames.fixtures import Rows
from palmette.features.frames.row_factory import Row, RowFactory
from palmette.features.frames.scenarios import NamedScenario, named_scenarios
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
from palmette.features.spec.fsc import UnitTest
from palmette.features.spec.lints import is_midnight
from palmette.features.spec.run import YEARS
from palmette.features.spec.view import View

MOST = 10
SCENES = ("boundaries", "values", "absences", "repeats", "states", "histories", "thresholds", "spring", "new_year")
"""Scenes whose parts do not affect each other."""
CLOCKS = ("spring", "new_year")
"""Scenes about midnights: in the view's zone, and for events with a date but no time."""
DAY = timedelta(days=1)


@dataclass(frozen=True)
class CaseSelector:
    """Everything that the cases of a view are chosen from."""

    view: View
    seed: int = 0

    @cached_property
    def staged(self) -> list[NamedScenario]:
        found = [staged for staged in named_scenarios(self.view, self.seed) if staged.name in SCENES]
        factory = found[0].builder.factory
        midnights = self.view.zone != "UTC" or any(factory.step(table) >= DAY for table in factory.events())
        return [staged for staged in found if midnights or staged.name not in CLOCKS]

    @cached_property
    def factory(self) -> RowFactory:
        return self.staged[0].builder.factory

    @cached_property
    def deviants(self) -> list[DeviatingView]:
        return deviants(self.view)

    @cached_property
    def candidates(self) -> list[CaseCandidate]:
        return candidates(self.factory, self.staged, self.deviants)

    @cached_property
    def obstacles(self) -> tuple[str, ...]:
        """Reasons why the oracle cannot compute the scenes, each once; they start with the feature or the rows."""
        found: dict[str, None] = {}
        for staged in self.staged:
            scenario = staged.scenario()
            try:
                expected(self.view, scenario.frames, scenario.as_of)
            except (NotCovered, WouldFail) as reason:
                found[str(reason)] = None
        return tuple(found)

    @cached_property
    def possible(self) -> frozenset[str]:
        """All deviations that some candidate detects."""
        return frozenset[str]().union(*(candidate.detects for candidate in self.candidates))

    def cases(self, survivors: Iterable[str] = ()) -> list[TestCase]:
        """The author's examples, and at most `MOST` cases for the deviations that they do not detect."""
        groups = _grouped(cover(self.candidates, survivors), max(MOST - len(self.view.tests), 2))
        return renamed([*examples(self.view), *map(self._case, groups)])

    def _case(self, group: Sequence[CaseCandidate]) -> TestCase:
        rows: dict[str, list[Row]] = defaultdict(list)
        for candidate in group:
            for name, each in self.trimmed(candidate).items():
                rows[name] += each
        notes = list(dict.fromkeys(candidate.part.note for candidate in group))
        return self._narrow(
            case_of(self.view, group[0].part.theme, _sentence(notes), self._inputs(rows, group[0].cutoff))
        )

    def _narrow(self, case: TestCase) -> TestCase:
        """The case without columns that no feature uses, if it still expects the same."""
        fewer = case.of_columns(self._used)
        try:
            output = expected(self.view, *situation(self.view, fewer))
        except (NotCovered, WouldFail, ValueError):
            return case
        return fewer if tuple(encode_row(output.schema, row) for row in output.rows) == case.expect else case

    @cached_property
    def _used(self) -> dict[str, frozenset[str]]:
        """By table: the columns of features, keys, times and partitions; for the spine, all columns."""
        lineage = {column for columns in self.view.lineage.values() for column in columns}
        used = {}
        for name, table in self.view.tables.items():
            times = {table.event_time, table.available_time, table.valid_from, table.valid_to}
            parts = {partition.column for partition in table.partitions}
            known = {column.name for column in table.columns}
            mine = {column.partition(".")[2] for column in lineage if column.startswith(f"{name}.")}
            is_spine = self.view.spine is not None and self.view.spine.table == name
            used[name] = frozenset(
                known if is_spine else known & {*mine, *times, *parts, *table.keys, *self.view.grain}
            )
        return used

    def _inputs(self, rows: Rows, cutoff: datetime) -> CaseInputs:
        return CaseInputs(self.factory.frames(rows, cutoff), None if self.view.cutoff == "spine" else cutoff)

    def trimmed(self, candidate: CaseCandidate) -> Rows:
        """The part's rows, without those that it does not need to detect its deviations."""
        rows = dict(candidate.part.rows)
        others = [other for other in self.deviants if other.what in candidate.detects]
        features = {what for what in candidate.detects if what.startswith(FEATURE_VALUES)}
        for name, row in [(name, row) for name, each in rows.items() for row in reversed(each)]:
            fewer = {**rows, name: [other for other in rows[name] if other is not row]}
            if any(fewer.values()) and self._detects(self._inputs(fewer, candidate.cutoff), others, features):
                rows = fewer
        return {name: each for name, each in rows.items() if each}

    def _detects(self, inputs: CaseInputs, others: Sequence[DeviatingView], features: set[str]) -> bool:
        try:
            right = expected(self.view, *inputs)
        except (NotCovered, WouldFail):
            return False
        values = frozenset[str]().union(*feature_values(self.view, right).values())
        return features <= values and all(differing(self.view, other, inputs, right) for other in others)

    def detected(self, cases: Iterable[TestCase]) -> set[str]:
        """The deviations that the cases detect."""
        found: set[str] = set()
        for case in cases:
            try:
                inputs = situation(self.view, case)
                right = expected(self.view, *inputs)
            except (NotCovered, WouldFail, ValueError):
                continue
            left = (other for other in self.deviants if other.what not in found)
            found |= {other.what for other in left if differing(self.view, other, inputs, right)}
        return found


def situation(view: View, case: TestCase) -> CaseInputs:
    """Reads the tables and the cut-off of a case.

    Raises:
        ValueError: the view has no such table or column, a value has the wrong type, or the view has no such cut-off.
    """
    if unknown := [name for name in case.given if name not in view.tables]:
        raise ValueError(f"the view reads no table {unknown[0]!r}, but {', '.join(sorted(view.tables))}")
    frames = frame_of_unit_test(view, case.given)
    if (case.as_of is None) != (view.cutoff == "spine"):
        raise ValueError(
            "it needs an as_of" if case.as_of is None else "the rows of the spine have the cut-offs, not as_of"
        )
    if case.as_of is None:
        return CaseInputs(frames, None)
    as_of = timestamp_of(case.as_of)
    if not YEARS[0] <= as_of.year <= YEARS[1]:
        raise ValueError(f"the year of {case.as_of} is outside {YEARS[0]} to {YEARS[1]}")
    if view.cutoff == "partition" and not is_midnight(as_of, view.zone):
        raise ValueError(f"{case.as_of} is not midnight in {view.zone}; a partition ends with its day")
    return CaseInputs(frames, as_of)


def examples(view: View) -> list[TestCase]:
    """The author's expectations as cases: the oracle's rows, with the author's values where it cannot compute them.

    Values that the author gives for only some rows become a separate case.
    """
    return [case for test in view.tests for case in _example(view, test)]


def _example(view: View, test: UnitTest) -> Iterator[TestCase]:
    inputs = CaseInputs(frame_of_unit_test(view, test.given), timestamp_of(test.as_of) if test.as_of else None)
    written = [encode_row(view.output, decode_row(view.output, row)) for row in test.expect]
    stated = [{name: row[name] for name in names} for row, names in zip(written, test.expect, strict=True)]
    name, why = _slug(test.name), f"Example of the specification: {test.name}."
    try:
        case = case_of(view, name, why, inputs)
    except (NotCovered, WouldFail):
        case = _case(name, why, inputs, ())
    identity = view.identity
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in stated:
        groups[tuple(key for key in row if not case.expect or key in identity or key not in case.expect[0])].append(row)
    if case.expect or not stated:
        yield case.model_copy(update={"example": True})
    for names, rows in groups.items():
        if not case.expect or set(names) - set(identity):
            expect = tuple({key: row[key] for key in names} for row in rows)
            is_partial = len(rows) < len(stated) and not set(names).isdisjoint(identity)
            yield case.model_copy(update={"expect": expect, "example": True, "partial": is_partial})


def case_of(view: View, name: str, why: str, inputs: CaseInputs) -> TestCase:
    """Builds a case with the oracle's expected output."""
    output = expected(view, *inputs)
    return _case(name, why, inputs, tuple(encode_row(output.schema, row) for row in output.rows))


def _case(name: str, why: str, inputs: CaseInputs, expect: tuple[Row, ...]) -> TestCase:
    given = {
        table: tuple(encode_row(frame.schema, row) for row in frame.rows)
        for table, frame in inputs.frames.items()
        if frame.rows
    }
    return TestCase(
        name=name,
        why=why,
        as_of=timestamp_text(inputs.as_of) if inputs.as_of else None,
        given=given,
        expect=expect,
    )


def _grouped(chosen: Sequence[CaseCandidate], most: int) -> list[list[CaseCandidate]]:
    """Groups candidates by theme, then merges the smallest groups with one cut-off until at most `most` are left."""
    groups: dict[tuple[datetime, str], list[CaseCandidate]] = defaultdict(list)
    for candidate in chosen:
        groups[candidate.cutoff, candidate.part.theme].append(candidate)
    found = list(groups.values())
    while len(found) > most:
        found.sort(key=len, reverse=True)
        last = found.pop()
        same = [group for group in found if group[0].cutoff == last[0].cutoff]
        if not same:
            continue
        smallest = min(same, key=len)
        smallest += last
    return found


def _sentence(notes: Sequence[str]) -> str:
    text = "; ".join(notes)
    return text[:1].upper() + text[1:] + "."


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "example"


def renamed(cases: Sequence[TestCase]) -> list[TestCase]:
    """The cases with unique names."""
    seen: dict[str, int] = {}
    found = []
    for case in cases:
        seen[case.name] = seen.get(case.name, 0) + 1
        number = seen[case.name]
        found.append(case if number == 1 else case.model_copy(update={"name": f"{case.name}_{number}"}))
    return found
