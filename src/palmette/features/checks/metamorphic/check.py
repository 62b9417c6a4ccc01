"""The metamorphic check: the script against itself, on inputs whose difference must not matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import Outcome, Owner, Subject
from palmette.features.checks.cases import EVIDENCE, difference, failure
from palmette.features.checks.metamorphic import relations
from palmette.features.checks.metamorphic.ground import Ground, Relation, ground_of
from palmette.features.frame import Frame
from palmette.features.frames import scenarios
from palmette.features.harness.harness import Case, CaseResult

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
"""Code of the violation to the change that must change nothing."""
ZONES = ("Asia/Kolkata", "America/New_York")
"""Session zones that must give what UTC gives: one without full hours, one with daylight saving."""
SPINE, REPEAT, ZONE = "spine-rows", "run-twice", "session-zone"
CODES = (*RELATIONS, SPINE, REPEAT, ZONE)


@dataclass(frozen=True)
class Trial:
    """One call of the script that must give what the plain call gives."""

    code: str
    case: Case
    known_rows_only: bool = False
    """Compare only the rows of entities that the plain output has."""


class MetamorphicCheck:
    """Changes of the input that must not change the output, and do not."""

    code: ClassVar[str] = "metamorphic"
    codes: ClassVar[tuple[str, ...]] = (*CODES, "crash")
    owner: ClassVar[Owner] = "code_generator"
    cost: ClassVar[int] = 30

    def check(self, subject: Subject) -> Outcome:
        grounds = _grounds(subject)
        if not grounds:
            return Outcome(skipped="no scenario has a row with a cut-off")
        violations: dict[str, Violation] = {}
        tried: set[str] = set()
        for name, ground in grounds:
            trials = [trial for trial in _trials(name, ground) if trial.code not in violations]
            plain = Case(f"{name}/plain", ground.frames, ground.as_of)
            base, *results = subject.harness.execute(
                subject.script,
                subject.entry,
                [plain, *(trial.case for trial in trials)],
                root=subject.root,
                python_path=subject.python_path,
            )
            if base.frame is None:
                return Outcome((failure(base),))
            tried |= {trial.code for trial in trials}
            if problem := relations.spine_mismatch(ground, base.frame.rows):
                violations.setdefault(SPINE, _violation(SPINE, name, problem))
            for trial, result in zip(trials, results, strict=True):
                if problem := _difference(ground, base.frame, trial, result):
                    violations.setdefault(trial.code, _violation(trial.code, name, problem))
        left = sorted(set(RELATIONS) - tried)
        detail = f"{len(tried)} relations on {len(grounds)} scenarios"
        return Outcome(
            tuple(violations.values()),
            detail=detail + (f"; not applicable: {', '.join(left)}" if left else ""),
        )


def _grounds(subject: Subject) -> list[tuple[str, Ground]]:
    """The two scenarios with the most rows, each at one cut-off."""
    found = []
    for scenario in scenarios(subject.view, seed=subject.seed):
        ground = ground_of(subject.view, scenario.frames, scenario.as_of)
        if ground is not None:
            found.append((scenario.name, ground))
    return sorted(found, key=lambda pair: -sum(len(frame.rows) for frame in pair[1].frames.values()))[:2]


def _trials(name: str, ground: Ground) -> list[Trial]:
    trials = [Trial(REPEAT, Case(f"{name}/{REPEAT}", ground.frames, ground.as_of))]
    trials += [
        Trial(ZONE, Case(f"{name}/{zone}", ground.frames, ground.as_of, session_zone=zone)) for zone in ZONES
    ]
    for code, relation in RELATIONS.items():
        changed = relation(ground)
        if changed is not None:
            partitions = 3 if relation is relations.shuffled_rows else 1
            case = Case(f"{name}/{code}", changed.frames, changed.as_of, partitions=partitions)
            trials.append(Trial(code, case, known_rows_only=relation is relations.other_entities))
    return trials


def _difference(ground: Ground, base: Frame, trial: Trial, result: CaseResult) -> str:
    if result.frame is None:
        return f"the script fails: {result.error}\n{result.trace}"
    actual = result.frame
    if trial.known_rows_only and ground.view.spine is None:
        keys = list(ground.view.grain)
        known = {tuple(row[key] for key in keys) for row in base.rows}
        actual = actual.with_rows([row for row in actual.rows if tuple(row[key] for key in keys) in known])
    return difference(ground.view, base, actual)


def _violation(code: str, scenario: str, evidence: str) -> Violation:
    relation = RELATIONS.get(code)
    promise = (
        (relation.__doc__ or "").split("\n")[0]
        if relation
        else {
            SPINE: "The output has exactly the rows of the spine.",
            REPEAT: "A second run gives the same.",
            ZONE: "The session's time zone changes nothing.",
        }[code]
    )
    return Violation(
        code=code, message=f"{promise} Not so in scenario {scenario!r}.", evidence=evidence[:EVIDENCE]
    )
