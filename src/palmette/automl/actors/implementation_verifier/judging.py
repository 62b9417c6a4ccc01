"""Constraints against measured numbers: pass, partly, fail."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palmette.automl import formatting
from palmette.automl.artefacts import ConstraintResult, Latency, Score, Status
from palmette.automl.composition import meant
from palmette.automl.formatting import seconds
from palmette.automl.task_spec.spec import Constraint, LearnerWish, TaskSpec
from palmette.automl.trials import Selection

COMPARISONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


class Quantity(NamedTuple):
    """A measured number in the unit of its constraint, with its spread."""

    value: float
    words: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Measured:
    """The numbers that constraints are judged by."""

    scores: Mapping[str, Score]
    """By metric; the metric of the run first."""
    scored: str
    """Where the scores are from, in words."""
    training_seconds: float
    megabytes: float
    latency: Latency | None
    """None where the endpoint did not start."""
    learners: tuple[str, ...]
    """Of the members."""
    parameters: int | None = None
    """None where they cannot be counted."""


def judged(task: TaskSpec, measured: Measured) -> Iterator[ConstraintResult]:
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
    """The constraints that another plan may keep. A score counts out of fold: the hold-out sends nobody back."""
    for one in results:
        limit = one.constraint
        if limit is None:
            continue
        if limit.quantity != "score" and one.status == "fail":
            yield one
        if limit.quantity == "score" and limit.metric in ("", selection.metric):
            words = f"{selection.metric} {selection.score:.4f} out of fold"
            if not COMPARISONS[limit.comparison](selection.score, limit.value):
                yield one.model_copy(update={"measured": words, "status": "fail"})


def overall(results: Sequence[ConstraintResult]) -> Status:
    """pass where everything passes, fail where nothing does."""
    statuses = {one.status for one in results}
    return "pass" if statuses <= {"pass"} else "fail" if statuses == {"fail"} else "partly"


def of_constraint(constraint: Constraint, measured: Measured) -> ConstraintResult:
    """partly where the limit lies within the spread of the measurement, else by the value."""
    found, wish = _quantity(constraint, measured), formatting.constraint(constraint)
    if isinstance(found, str):
        return ConstraintResult(constraint=constraint, wish=wish, measured=f"not measured: {found}", status="fail")
    holds = COMPARISONS[constraint.comparison]
    status: Status = "pass" if holds(found.value, constraint.value) else "fail"
    if found.low is not None and found.high is not None:
        ends = {holds(end, constraint.value) for end in (found.low, found.high)}
        status = "partly" if len(ends) > 1 else status
    return ConstraintResult(constraint=constraint, wish=wish, measured=found.words, status=status)


def _quantity(constraint: Constraint, measured: Measured) -> Quantity | str:
    """The number that a constraint is about; why there is none."""
    match constraint.quantity:
        case "score":
            return _score(constraint, measured)
        case "training_time":
            return Quantity(measured.training_seconds, seconds(measured.training_seconds))
        case "size":
            return Quantity(measured.megabytes * 1e6, formatting.size(measured.megabytes))
        case "parameters" if measured.parameters is None:
            return "the model has none that can be counted"
        case "parameters":
            return Quantity(float(measured.parameters or 0), f"{formatting.number(measured.parameters)} parameters")
    latency = measured.latency
    if latency is None:
        return "the endpoint did not start"
    if constraint.quantity == "latency":
        middle, low, high = latency.p50 / 1000, latency.low / 1000, latency.high / 1000
        return Quantity(middle, f"{seconds(middle)} ({seconds(low)} to {seconds(high)})", low, high)
    if latency.batch_seconds is None:
        return "the endpoint refuses that many rows"
    return Quantity(latency.batch_seconds, f"{seconds(latency.batch_seconds)} for all held-out rows")


def _score(constraint: Constraint, measured: Measured) -> Quantity | str:
    first = next(iter(measured.scores.values()), None)
    score = measured.scores.get(constraint.metric) if constraint.metric else first
    if score is None:
        return f"{constraint.metric or 'the metric'} cannot be computed on these rows"
    value, interval, _ = formatting.measured(score.value, score.low, score.high)
    words = f"{formatting.metric(score.metric)} {value} {measured.scored} (95 % interval {interval})"
    return Quantity(score.value, words, score.low, score.high)


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
