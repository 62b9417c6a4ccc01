"""The metamorphic check: compares the script's outputs for inputs whose difference must not matter."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import ClassVar
from zoneinfo import ZoneInfo

from palmette.engine.actor import Violation
from palmette.features.checks.base import CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.examples import EVIDENCE, difference, failure
from palmette.features.checks.metamorphic import relations
from palmette.features.checks.metamorphic.inputs import MetamorphicInput, Relation, input_at_one_cutoff
from palmette.features.frame import Frame
from palmette.features.harness.connect import CaseResult, ScriptCase
from palmette.features.oracle.states import Times
from palmette.features.spec import Window

RELATIONS: Mapping[str, Relation] = {
    "future-rows": relations.future_rows,
    "rows-at-cutoff": relations.rows_at_cutoff,
    "unavailable-rows": relations.unavailable_rows,
    "ancient-rows": relations.ancient_rows,
    "other-entities": relations.other_entities,
    "repeated-dimension-rows": relations.repeated_dimension_rows,
    "unused-columns": relations.unused_columns,
    "row-order": relations.shuffled_rows,
}
"""Violation code to a relation, which changes the input without changing the output."""
ZONE_OF_CHANGES = "Europe/Berlin"
"""A session zone whose clocks change when those of the frames do."""
FAR_ZONES = ("Pacific/Chatham", "Pacific/Marquesas")
"""Session zones that are far from UTC, by hours and a part of one: most times are on another day in one of them."""
MANY_ROWS = 250
UNCHANGED, SPINE, REPEAT, ZONE = "unchanged", "spine-rows", "run-twice", "session-zone"
_PROMISES = {
    **{code: (relation.__doc__ or "").split("\n")[0] for code, relation in RELATIONS.items()},
    SPINE: "The output has exactly the rows of the spine.",
    REPEAT: "A second run gives the same.",
    ZONE: "The session's time zone changes nothing.",
}


Trial = tuple[str, ScriptCase]
"""A call of the script that must give the same result as the unchanged call, with the code of a violation."""


class MetamorphicCheck:
    """Changes of the input that must not change the output, and do not."""

    code: ClassVar[str] = "metamorphic"
    codes: ClassVar[tuple[str, ...]] = (*_PROMISES, "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 30

    def check(self, subject: ScriptUnderTest) -> CheckResult:
        grounds = _inputs(subject)
        if not grounds:
            return CheckResult(skipped="no scenario has a row with a cut-off")
        first = next(iter(grounds))
        trials = {name: _trials(name, ground, everything=name == first) for name, ground in grounds.items()}
        results = iter(subject.run([case for each in trials.values() for _, case in each]))
        outcomes = {name: list(islice(results, len(each))) for name, each in trials.items()}
        found = (_violations(name, ground, trials[name], outcomes[name]) for name, ground in grounds.items())
        violations = next(filter(None, found), {})
        tried = {code for each in trials.values() for code, _ in each} - {UNCHANGED}
        left = ", ".join(code for code in RELATIONS if code not in tried)
        detail = f"{len(tried)} relations, {len(grounds)} scenarios"
        return CheckResult(tuple(violations.values()), detail=f"{detail}; not applicable: {left}" if left else detail)


def _violations(
    name: str, ground: MetamorphicInput, trials: Sequence[Trial], results: Sequence[CaseResult]
) -> dict[str, Violation]:
    """The differences in one scenario from the unchanged call, which is the first, by code."""
    base = results[0]
    if base.frame is None:
        return {"crash": failure(base)}
    violations: dict[str, Violation] = {}
    if problem := relations.spine_mismatch(ground, base.frame.rows):
        violations[SPINE] = _violation(SPINE, name, problem)
    for (code, _), result in zip(trials[1:], results[1:], strict=True):
        if problem := _difference(ground, base.frame, code, result):
            violations.setdefault(code, _violation(code, name, problem))
    return violations


def _inputs(subject: ScriptUnderTest) -> dict[str, MetamorphicInput]:
    """The most informative scenario overall and the one for clock changes, each reduced to one cut-off."""
    found: list[tuple[str, MetamorphicInput]] = []
    for scenario in subject.scenarios:
        ground = input_at_one_cutoff(subject.view, scenario.frames, scenario.as_of)
        if ground is not None:
            found.append((scenario.name, ground))
    if not found:
        return {}
    return dict(max(found, key=lambda pair: measure(pair[1])) for measure in (_size_score, _clock_changes_covered))


def _size_score(ground: MetamorphicInput) -> int:
    """Number of rows, negated above a limit: many similar rows add little and take long."""
    rows = sum(len(frame.rows) for frame in ground.frames.values())
    return rows if rows < MANY_ROWS else -rows


def _clock_changes_covered(ground: MetamorphicInput) -> int:
    """Number of events near the start of a window that contains a clock change."""
    count, zone = 0, ZoneInfo(ZONE_OF_CHANGES)
    offset = ground.cutoff.astimezone(zone).utcoffset()
    for feature in ground.view.features:
        if feature.source is None or feature.window is None or feature.window == Window.ALL:
            continue
        start = ground.cutoff - feature.window.timedelta
        if start.astimezone(zone).utcoffset() == offset:
            continue
        table = ground.view.source(feature.source).table
        rows = ground.frames[table.name].rows if table.event_time else ()
        times = map(Times(table, ground.zone).event, rows)
        count += sum(time is not None and abs(time - start) <= timedelta(hours=1) for time in times)
    return count


def session_zones(cutoff: datetime) -> tuple[str, str]:
    """Session zones that must give the same result as UTC; the cut-off is on another day in the first, if possible."""
    days = {zone: cutoff.astimezone(ZoneInfo(zone)).date() for zone in FAR_ZONES}
    far = next((zone for zone, day in days.items() if day != cutoff.astimezone(UTC).date()), FAR_ZONES[0])
    return far, ZONE_OF_CHANGES


def _trials(name: str, ground: MetamorphicInput, *, everything: bool) -> list[Trial]:
    """The unchanged call, then all trials, or only those for session zones."""
    trials = [
        (code, ScriptCase(f"{name}/{zone}", ground.frames, ground.as_of, session_zone=zone))
        for code, zone in ((UNCHANGED, "UTC"), *((ZONE, zone) for zone in session_zones(ground.cutoff)))
    ]
    if not everything:
        return trials
    trials.append((REPEAT, ScriptCase(f"{name}/{REPEAT}", ground.frames, ground.as_of)))
    for code, relation in RELATIONS.items():
        changed = relation(ground)
        if changed is not None:
            partitions = 3 if relation is relations.shuffled_rows else 1
            trials.append((code, ScriptCase(f"{name}/{code}", changed.frames, changed.as_of, partitions=partitions)))
    return trials


def _difference(ground: MetamorphicInput, base: Frame, code: str, result: CaseResult) -> str:
    if result.frame is None:
        return f"the script fails: {result.error}\n{result.trace}"
    actual = result.frame
    if RELATIONS.get(code) is relations.other_entities and ground.view.spine is None:
        keys = list(ground.view.grain)
        known = {tuple(row[key] for key in keys) for row in base.rows}
        actual = actual.with_rows([row for row in actual.rows if tuple(row[key] for key in keys) in known])
    return difference(ground.view, base, actual)


def _violation(code: str, scenario: str, evidence: str) -> Violation:
    message = f"{_PROMISES[code]} Not so in scenario {scenario!r}."
    return Violation(code=code, message=message, evidence=evidence[:EVIDENCE])
