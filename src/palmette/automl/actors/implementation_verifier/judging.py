"""Constraints against measured numbers: pass, partly, fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from palmette.automl import formatting
from palmette.automl.artefacts import Assessment, ConstraintResult, Status
from palmette.automl.candidates import Selection
from palmette.automl.composition import meant
from palmette.automl.formatting import seconds
from palmette.automl.planning.constraints import HOLDS
from palmette.automl.project import MODEL, BuiltPackage, run_program
from palmette.automl.task_spec.spec import Constraint, LearnerWish, TaskSpec
from palmette.sandbox.reading import read_json

SECONDS = 120.0
MOST = 1 << 10  # bytes of the answer
PROGRAM = """
import json, pathlib, sys
import joblib
import numpy as np

WEIGHTS = ("coef_", "intercept_", "coefs_", "intercepts_")

def found(one, seen):
    if id(one) in seen or isinstance(one, (str, bytes, type)):
        return
    seen[id(one)] = one
    if hasattr(one, "named_parameters"):
        yield from ((id(part), part.numel()) for part in one.parameters())
    elif isinstance(one, dict):
        for part in one.values():
            yield from found(part, seen)
    elif isinstance(one, (list, tuple)):
        for part in one:
            yield from found(part, seen)
    else:
        own = getattr(one, "__dict__", {})
        for name in own.keys() & set(WEIGHTS):
            parts = own[name] if isinstance(own[name], list) else [own[name]]
            yield from ((id(part), int(np.size(part))) for part in parts)
        yield from found({name: part for name, part in own.items() if name not in WEIGHTS}, seen)

model, out = map(pathlib.Path, sys.argv[1:])
count = sum(dict(found(joblib.load(model), {})).values())
out.write_text(json.dumps(count), encoding="utf-8")
"""


class MeasuredQuantity(NamedTuple):
    """A measured number in the unit of its constraint, with its spread."""

    value: float
    words: str
    low: float
    high: float

    @classmethod
    def exact(cls, value: float, words: str) -> MeasuredQuantity:
        """A number without a spread."""
        return cls(value, words, value, value)


@dataclass(frozen=True)
class MeasuredModel:
    """What constraints are judged by."""

    assessment: Assessment  # without results
    scored: str  # where the scores are from, in words
    learners: tuple[str, ...]  # of the members


def judged(task: TaskSpec, measured: MeasuredModel) -> Iterator[ConstraintResult]:
    """The result of every constraint, of the learners and the number of models that were asked for, and of wishes that
    cannot be met."""
    for constraint in task.constraints:
        yield of_constraint(constraint, measured)
    yield from _of_learners(task.learners, measured.learners)
    if task.ensemble is not None:
        count = len(measured.learners)
        wish = "several models together" if task.ensemble else "a single model"
        words = f"{count} model{'s' * (count != 1)}"
        yield ConstraintResult(wish=wish, measured=words, status="pass" if (count > 1) == task.ensemble else "fail")
    for wish in task.unmet:
        yield ConstraintResult(wish=wish, measured="not supported", status="fail")


def missed_by(results: Sequence[ConstraintResult], selection: Selection) -> Iterator[ConstraintResult]:
    """The constraints that another plan may keep. A score counts out of fold: the hold-out never causes a revision."""
    for one in results:
        limit = one.constraint
        if limit is None:
            continue
        if limit.quantity != "score" and one.status == "fail":
            yield one
        if limit.quantity == "score" and limit.metric in ("", selection.metric):
            words = f"{selection.metric} {selection.score:.4f} out of fold"
            if not HOLDS[limit.comparison](selection.score, limit.value):
                yield one.model_copy(update={"measured": words, "status": "fail"})


def overall(results: Sequence[ConstraintResult]) -> Status:
    """pass where everything passes, fail where nothing does."""
    statuses = {one.status for one in results}
    return "pass" if statuses <= {"pass"} else "fail" if statuses == {"fail"} else "partly"


def of_constraint(constraint: Constraint, measured: MeasuredModel) -> ConstraintResult:
    """partly where the limit lies within the spread of the measurement, else by the value."""
    found, wish = _quantity(constraint, measured), formatting.constraint(constraint)
    if isinstance(found, str):
        return ConstraintResult(constraint=constraint, wish=wish, measured=f"not measured: {found}", status="fail")
    holds = HOLDS[constraint.comparison]
    status: Status = "pass" if holds(found.value, constraint.value) else "fail"
    words = found.words
    if holds(found.low, constraint.value) != holds(found.high, constraint.value):
        words += f"; {'kept' if status == 'pass' else 'missed'}, but not by more than the spread"
        status = "partly"
    return ConstraintResult(constraint=constraint, wish=wish, measured=words, status=status)


def _quantity(constraint: Constraint, measured: MeasuredModel) -> MeasuredQuantity | str:
    """The number that a constraint is about; why there is none."""
    found = measured.assessment
    match constraint.quantity:
        case "score":
            return _score(constraint, measured)
        case "training_time":
            return MeasuredQuantity.exact(found.training_seconds, seconds(found.training_seconds))
        case "size":
            return MeasuredQuantity.exact(found.megabytes * 1e6, formatting.size(found.megabytes))
        case "parameters" if found.parameters is None:
            return "the model has none that can be counted"
        case "parameters":
            return MeasuredQuantity.exact(
                float(found.parameters or 0), f"{formatting.number(found.parameters)} parameters"
            )
    latency = found.latency
    if latency is None:
        return "the endpoint did not start"
    if constraint.quantity == "latency":
        middle, low, high = latency.p50 / 1000, latency.low / 1000, latency.high / 1000
        return MeasuredQuantity(middle, f"{seconds(middle)} ({seconds(low)} to {seconds(high)})", low, high)
    if latency.batch_seconds is None:
        return "the endpoint refuses that many rows"
    return MeasuredQuantity.exact(latency.batch_seconds, f"{seconds(latency.batch_seconds)} for all held-out rows")


def _score(constraint: Constraint, measured: MeasuredModel) -> MeasuredQuantity | str:
    scores = measured.assessment.scores
    score = next((one for one in scores if constraint.metric in ("", one.metric)), None)
    if score is None:
        return f"{constraint.metric or 'the metric'} cannot be computed on these rows"
    value, interval, _ = formatting.measured(score.value, score.low, score.high)
    words = f"{formatting.metric(score.metric)} {value} {measured.scored} (95 % interval {interval})"
    return MeasuredQuantity(score.value, words, score.low, score.high)


def _of_learners(wishes: Sequence[LearnerWish], used: Sequence[str]) -> Iterator[ConstraintResult]:
    """Whether the members are of the learners or families that were required, and of none that is forbidden."""
    words = ", ".join(dict.fromkeys(used))
    for level, only in (("required", "only"), ("forbidden", "no")):
        names = sorted(one.name for one in wishes if one.level == level)
        family = {learner for name in names for learner in meant(name)}
        holds = set(used) <= family if level == "required" else not set(used) & family
        if names:
            wish = f"{only} {' or '.join(names)}"
            yield ConstraintResult(wish=wish, measured=words, status="pass" if holds else "fail")


def parameters_of(package: BuiltPackage, scratch: Path) -> int | None:
    """The parameters of the fitted model of a package; None where it has none that can be counted."""
    scratch.mkdir(parents=True, exist_ok=True)
    out, model = scratch / "parameters.json", package.folder / MODEL / "model.joblib"
    given = ("-c", PROGRAM, str(model), str(out))
    done = run_program(package.sandbox, package.folder, *given, seconds=SECONDS, write=scratch)
    try:
        count = read_json(scratch, out.name, MOST) if done.ok else None
    except (OSError, ValueError):  # whatever the package has left there
        return None
    return count if isinstance(count, int) and count > 0 else None
