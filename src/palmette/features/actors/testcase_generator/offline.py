"""The offline rules of the test-case generator: which cases there are, and what is in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from palmette.features.actors.testcase_generator.cover import (
    FEATURE_VALUES,
    Candidate,
    cover,
    different,
    feature_values,
    judged,
    outcome,
)
from palmette.features.actors.testcase_generator.deviations import Deviant, deviants
from palmette.features.artefacts import TestCase
from palmette.features.frame import Frame
from palmette.features.frame_json import encode_row, frame_of_unit_test, instant_of, instant_text
from palmette.features.frames.scenarios import Staged, stage
from palmette.features.frames.scene import Rows
from palmette.features.frames.studio import Row, Studio
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
from palmette.features.spec.author_tests import is_midnight
from palmette.features.spec.fsc import UnitTest
from palmette.features.spec.run import YEARS
from palmette.features.spec.view import View

MOST = 10
SCENES = ("boundaries", "values", "absences", "repeats", "states", "histories", "thresholds", "spring", "new_year")
"""Scenes whose parts do not touch each other."""
CLOCKS = ("spring", "new_year")
"""Those that are about midnights: of the view's zone, and of events that have a day and no time of day."""
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Suite:
    """Everything that cases of a view can be chosen from."""

    view: View
    seed: int = 0

    @cached_property
    def staged(self) -> list[Staged]:
        found = [staged for staged in stage(self.view, self.seed) if staged.name in SCENES]
        studio = found[0].scene.studio
        midnights = self.view.zone != "UTC" or any(studio.step(table) >= DAY for table in studio.events())
        return [staged for staged in found if midnights or staged.name not in CLOCKS]

    @cached_property
    def studio(self) -> Studio:
        return self.staged[0].scene.studio

    @cached_property
    def deviants(self) -> list[Deviant]:
        return deviants(self.view)

    @cached_property
    def candidates(self) -> list[Candidate]:
        return judged(self.studio, self.staged, self.deviants)

    @cached_property
    def obstacles(self) -> tuple[str, ...]:
        """Why the oracle has no answer on the scenes, each reason once: the feature (or the rows) first."""
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
        """What some candidate tells."""
        return frozenset[str]().union(*(candidate.tells for candidate in self.candidates))

    def cases(self, survivors: Iterable[str] = ()) -> list[TestCase]:
        """The author's examples, and what they leave untested; at most `MOST`."""
        examples = [case for test in self.view.tests[: MOST - 2] if (case := example(self.view, test)) is not None]
        told = self.told(examples)
        chosen = [candidate for candidate in cover(self.candidates, survivors)]
        groups = _grouped(chosen, MOST - len(examples))
        made = [self._case(group) for group in groups]
        return _renamed([*examples, *made]) if told or made else examples

    def _case(self, group: Sequence[Candidate]) -> TestCase:
        rows: dict[str, list[Row]] = defaultdict(list)
        for candidate in group:
            for name, each in self.trimmed(candidate).items():
                rows[name] += each
        cutoff = group[0].cutoff
        frames = self.studio.frames(rows, cutoff)
        notes = list(dict.fromkeys(candidate.part.note for candidate in group))
        as_of = None if self.view.cutoff == "spine" else cutoff
        return case_of(self.view, group[0].part.theme, _sentence(notes), frames, as_of)

    def trimmed(self, candidate: Candidate) -> Rows:
        """The part's rows without the tables that it does not need to tell what it tells."""
        rows = dict(candidate.part.rows)
        others = [other for other in self.deviants if other.what in candidate.tells]
        features = {what for what in candidate.tells if what.startswith(FEATURE_VALUES)}
        spine = self.view.spine.table if self.view.spine else None
        for name in list(rows):
            fewer = {table: each for table, each in rows.items() if table != name}
            if name != spine and fewer and self._tells(fewer, candidate.cutoff, others, features):
                rows = fewer
        return rows

    def _tells(self, rows: Rows, cutoff: datetime, others: Sequence[Deviant], features: set[str]) -> bool:
        right = outcome(self.studio, rows, cutoff)
        if right is None or not features <= frozenset().union(*feature_values(self.view, right).values()):
            return False
        frames = self.studio.frames(rows, cutoff)
        as_of = None if self.view.cutoff == "spine" else cutoff
        return all(
            (wrong := other.output(frames, as_of, right)) is not None
            and different(self.view, right, wrong, other.features)
            for other in others
        )

    def told(self, cases: Iterable[TestCase]) -> set[str]:
        """The deviations that cases tell apart, and the values that features take in them."""
        found: set[str] = set()
        for case in cases:
            try:
                frames, as_of = situation(self.view, case)
                right = expected(self.view, frames, as_of)
            except (NotCovered, WouldFail, ValueError):
                continue
            for other in self.deviants:
                wrong = other.output(frames, as_of, right)
                if other.what not in found and wrong is not None and different(self.view, right, wrong, other.features):
                    found.add(other.what)
        return found


class Situation(NamedTuple):
    """What a case is computed from."""

    frames: dict[str, Frame]
    as_of: datetime | None


def situation(view: View, case: TestCase) -> Situation:
    """The tables and the cut-off of a case.

    Raises:
        ValueError: the view has no such table or column, a value does not fit, or the cut-off is not one of the view's.
    """
    if unknown := [name for name in case.given if name not in view.tables]:
        raise ValueError(f"the view reads no table {unknown[0]!r}, but {', '.join(sorted(view.tables))}")
    frames = frame_of_unit_test(view, case.given)
    if (case.as_of is None) != (view.cutoff == "spine"):
        raise ValueError(
            "it needs an as_of" if case.as_of is None else "the rows of the spine have the cut-offs, not as_of"
        )
    if case.as_of is None:
        return Situation(frames, None)
    as_of = instant_of(case.as_of)
    if not YEARS[0] <= as_of.year <= YEARS[1]:
        raise ValueError(f"the year of {case.as_of} is outside {YEARS[0]} to {YEARS[1]}")
    if view.cutoff == "partition" and not is_midnight(as_of, view.zone):
        raise ValueError(f"{case.as_of} is not midnight in {view.zone}; a partition ends with its day")
    return Situation(frames, as_of)


def example(view: View, test: UnitTest) -> TestCase | None:
    """An example of the specification as a case; None where the oracle has no answer."""
    frames = frame_of_unit_test(view, test.given)
    try:
        return case_of(
            view,
            _slug(test.name),
            f"Example of the specification: {test.name}.",
            frames,
            instant_of(test.as_of) if test.as_of else None,
        )
    except (NotCovered, WouldFail):
        return None


def case_of(view: View, name: str, why: str, frames: Mapping[str, Frame], as_of: datetime | None) -> TestCase:
    """A case with the oracle's expectation."""
    output = expected(view, frames, as_of)
    given = {
        table: tuple(encode_row(frame.schema, row) for row in frame.rows)
        for table, frame in frames.items()
        if frame.rows
    }
    return TestCase(
        name=name,
        why=why,
        as_of=instant_text(as_of) if as_of else None,
        given=given,
        expect=tuple(encode_row(output.schema, row) for row in output.rows),
    )


def _grouped(chosen: Sequence[Candidate], most: int) -> list[list[Candidate]]:
    """By theme; the smallest groups of one cut-off are put together until there are few enough."""
    groups: dict[tuple[datetime, str], list[Candidate]] = defaultdict(list)
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


def _renamed(cases: Sequence[TestCase]) -> list[TestCase]:
    """Names made unique."""
    seen: dict[str, int] = {}
    found = []
    for case in cases:
        seen[case.name] = seen.get(case.name, 0) + 1
        number = seen[case.name]
        found.append(case if number == 1 else case.model_copy(update={"name": f"{case.name}_{number}"}))
    return found
