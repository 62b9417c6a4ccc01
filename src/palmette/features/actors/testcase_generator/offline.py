"""Chooses the cases and their rows by rules."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import combinations
from typing import Any

from palmette.features.actors.testcase_generator.cover import (
    FEATURE_VALUES,
    CaseCandidate,
    CaseInputs,
    Key,
    candidates,
    concerns,
    cover,
    differing,
    feature_values,
    key_of,
)
from palmette.features.actors.testcase_generator.deviations import DeviatingView, deviants
from palmette.features.artefacts import TestCase
from palmette.features.frame_json import decode_row, encode_row, timestamp_of, timestamp_text
from palmette.features.frames.calendar import frames_of
from palmette.features.frames.fixtures import Rows
from palmette.features.frames.row_factory import Row, RowFactory
from palmette.features.frames.scenarios import NamedScenario, named_scenarios
from palmette.features.oracle import NotCovered, WouldFail, expected
from palmette.features.oracle.states import sort_key
from palmette.features.pyspark.scope import free_name
from palmette.features.spec import UnitTest, View
from palmette.features.spec.lints import is_midnight
from palmette.features.spec.run import YEARS

MOST = 10
LONGEST = 60
"""Characters in the name of a case."""
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
        return deviants(self.factory)

    @cached_property
    def candidates(self) -> list[CaseCandidate]:
        return [found for each in self.staged for found in candidates(self.factory, each, self.deviants)]

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
        """The author's examples, and at most `MOST` cases for the deviations that they do not detect.

        `survivors`: How the output of surviving mutants differs, each from its first scenario that shows it. The rows
        in which it does become cases that state everything.
        """
        given = examples(self.view)
        chosen = cover(self.candidates, self.detected(given))
        order = {id(candidate.part): number for number, candidate in enumerate(self.candidates)}
        missed = list(map(self._case, _grouped(self._unnoticed(survivors), 1)))[:MOST]
        groups = _grouped(sorted(chosen, key=lambda candidate: order[id(candidate.part)]), MOST - len(missed))
        return renamed([*given, *self._stating(list(map(self._case, groups)), _purpose(chosen)), *missed])

    def _unnoticed(self, survivors: Iterable[str]) -> list[CaseCandidate]:
        """The parts with the rows in which surviving mutants differ."""
        key = ", ".join(rf"{name}=(.+?)" for name in self.view.grain)
        found: dict[int, CaseCandidate] = {}
        for name, *texts in re.findall(rf"scenario '(\w+)':\n{key}(?:, as_of=| · |: )", "\n\n".join(survivors)):
            try:
                values = [ast.literal_eval(text) for text in texts]
            except (SyntaxError, ValueError):
                continue  # no number or text
            for candidate in self.candidates:
                if candidate.scenario == name and concerns(self.factory, candidate.part, values):
                    found[id(candidate.part)] = replace(candidate, detects=frozenset())
        return list(found.values())

    def _case(self, group: Sequence[CaseCandidate]) -> TestCase:
        """The situations of a group as one case, with the smallest keys, in their order, if it then detects the same.

        Situations that detect nothing in particular stay as they are.
        """
        trimmed, cutoff = [self.trimmed(candidate) for candidate in group], group[0].cutoff
        rows = {name: [row for each in trimmed for row in each.get(name, ())] for name in self.view.tables}
        numbered = self.factory.keys.renumbered(rows, self.view.tables.values())
        in_order = {}
        for name, each in numbered.items():
            keys = self.view.tables[name].keys
            in_order[name] = sorted(each, key=lambda row: sort_key(map(row.get, keys)))
        notes = list(dict.fromkeys(candidate.part.note for candidate in group))
        name, why = group[0].part.theme if len(notes) > 1 else _slug(notes[0]), "; ".join(notes)
        simple = (self._inputs(each, cutoff) for each in (in_order, numbered) if _purpose(group))
        chosen = next((each for each in simple if self._detects(each, _purpose(group))), self._inputs(rows, cutoff))
        return case_of(self.view, name, f"{why[:1].upper()}{why[1:]}.", chosen)

    def _stating(self, cases: Sequence[TestCase], wanted: frozenset[str]) -> list[TestCase]:
        """The cases, which expect of each row few features in which the deviations show."""
        shown: dict[str, set[tuple[int, Key, str]]] = defaultdict(set)
        for number, case in enumerate(cases):
            inputs = situation(self.view, case)
            right = expected(self.view, *inputs)
            for other in (other for other in self.deviants if other.what in wanted):
                found = differing(self.view, other, inputs, right)
                own = {place for place in found if other.what.startswith(f"{place[1]}: ")}
                shown[other.what] |= {(number, *place) for place in own or found}
            for key, texts in feature_values(self.view, right).items():
                for text in texts & wanted:
                    shown[text].add((number, key, text.partition(" of ")[2]))
        left = [sorted(places) for places in shown.values() if places and all(name for *_, name in places)]
        stated: set[tuple[int, Key, str]] = set()
        while left := [found for found in left if not stated.intersection(found)]:
            stated.add(Counter(place for found in left for place in found).most_common(1)[0][0])
        hidden, narrowed = {each.name for each in self.view.features}, []
        for number, case in enumerate(cases):
            keys = [(number, key_of(self.view, decode_row(self.view.output, row))) for row in case.expect]
            rows = [
                {name: value for name, value in row.items() if name not in hidden or (*key, name) in stated}
                for key, row in zip(keys, case.expect, strict=True)
            ]
            narrowed.append(case.model_copy(update={"expect": tuple(rows)}))
        return narrowed

    def _inputs(self, rows: Rows, cutoff: datetime) -> CaseInputs:
        return CaseInputs(self.factory.frames(rows, cutoff), None if self.view.cutoff == "spine" else cutoff)

    def trimmed(self, candidate: CaseCandidate) -> Rows:
        """The part's rows, without those, and with usual values except those, that its deviations need to show."""
        rows = dict(candidate.part.rows)
        if not candidate.detects:
            return {name: each for name, each in rows.items() if each}
        for name, row in [(name, row) for name, each in rows.items() for row in reversed(each)]:
            fewer = {**rows, name: [other for other in rows[name] if other is not row]}
            if any(fewer.values()) and self._detects(self._inputs(fewer, candidate.cutoff), candidate.detects):
                rows = fewer
        usual = self.staged[0].builder.fixtures[0].values
        for name, column in [(name, column) for name, each in usual.items() for column in each]:
            plain = {**rows, name: [{**row, column: usual[name][column]} for row in rows.get(name, ())]}
            if plain != rows and self._detects(self._inputs(plain, candidate.cutoff), candidate.detects):
                rows = plain
        return {name: each for name, each in rows.items() if each}

    def _detects(self, inputs: CaseInputs, what: frozenset[str]) -> bool:
        try:
            right = expected(self.view, *inputs)
        except (NotCovered, WouldFail):
            return False
        values = frozenset[str]().union(*feature_values(self.view, right).values())
        others = (other for other in self.deviants if other.what in what)
        return {each for each in what if each.startswith(FEATURE_VALUES)} <= values and all(
            differing(self.view, other, inputs, right) for other in others
        )

    def detected(self, cases: Iterable[TestCase]) -> set[str]:
        """The deviations that the cases detect, and the values that they give to features."""
        found: set[str] = set()
        for case in cases:
            try:
                inputs = situation(self.view, case)
                right = expected(self.view, *inputs)
            except (NotCovered, WouldFail, ValueError):
                continue
            keys = [key_of(self.view, decode_row(self.view.output, row)) for row in case.expect]
            stated = {(key, name) for key, row in zip(keys, case.expect, strict=True) for name in row}
            for other in (other for other in self.deviants if other.what not in found):
                shown = differing(self.view, other, inputs, right)
                found |= {other.what} if any(not place[1] or place in stated for place in shown) else set()
            for key, texts in feature_values(self.view, right).items():
                found |= {text for text in texts if (key, text.partition(" of ")[2]) in stated}
        return found


def situation(view: View, case: TestCase) -> CaseInputs:
    """Reads the tables and the cut-off of a case.

    Raises:
        ValueError: the view has no such table or column, a value has the wrong type, or the view has no such cut-off.
    """
    if unknown := [name for name in case.given if name not in view.tables]:
        raise ValueError(f"the view reads no table {unknown[0]!r}, but {', '.join(sorted(view.tables))}")
    frames = frames_of(view, case.given)
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
    inputs = CaseInputs(frames_of(view, test.given), timestamp_of(test.as_of) if test.as_of else None)
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
        name=name, why=why, as_of=timestamp_text(inputs.as_of) if inputs.as_of else None, given=given, expect=expect
    )


def _purpose(group: Iterable[CaseCandidate]) -> frozenset[str]:
    return frozenset[str]().union(*(candidate.detects for candidate in group))


def _grouped(chosen: Sequence[CaseCandidate], most: int) -> list[list[CaseCandidate]]:
    """One situation a case; the smallest of one cut-off, if possible of one theme, share one if there are too many."""
    found = [[number] for number in range(len(chosen))]

    def cost(pair: tuple[list[int], list[int]]) -> tuple[bool, int]:
        themes = {chosen[group[0]].part.theme for group in pair}
        return len(themes) > 1, sum(chosen[number].size for group in pair for number in group)

    while len(found) > most:
        pairs = [(a, b) for a, b in combinations(found, 2) if chosen[a[0]].cutoff == chosen[b[0]].cutoff]
        if not pairs:
            break
        one, other = min(pairs, key=cost)
        found.remove(other)
        one += other
    return [[chosen[number] for number in sorted(group)] for group in found]


def _slug(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return (words if len(words) <= LONGEST else words[:LONGEST].rpartition("_")[0] or words[:LONGEST]) or "example"


def renamed(cases: Sequence[TestCase]) -> list[TestCase]:
    """The cases with unique names."""
    found: dict[str, TestCase] = {}
    for case in cases:
        name = free_name(case.name, found)
        found[name] = case.model_copy(update={"name": name})
    return [*found.values()]
