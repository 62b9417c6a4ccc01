"""Requirements against measured numbers: pass, partly, fail."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palmette.automl.artefacts import Judged, Score, Status
from palmette.automl.planning.algorithms import meant
from palmette.automl.requirements import AlgorithmWish, Constraint, Requirements

ENSEMBLE = "ensemble"
COMPARISONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


class Answering(NamedTuple):
    """How long the endpoint takes to answer."""

    milliseconds: float
    """For one row, median."""
    seconds: float
    """For all of so many rows."""
    rows: int


@dataclass(frozen=True)
class Measured:
    """The numbers that constraints are held against."""

    scores: Mapping[str, Score]
    """By metric; the metric of the run first."""
    scored: str
    """Where the scores are from, in words."""
    training_seconds: float
    megabytes: float
    answering: Answering | None
    """None where nothing is asked of it, or the endpoint did not start."""
    members: Mapping[str, str]
    """Algorithms by member."""
    parameters: Mapping[str, int] | None = None
    """By member, of all its fitted models; None where nothing is asked of them, or they cannot be counted."""


def judged(requirements: Requirements, measured: Measured) -> Iterator[Judged]:
    """What became of every constraint, and of the algorithms that were asked for."""
    for constraint in requirements.problem.constraints:
        yield _of(constraint, measured)
    wishes = [one for one in requirements.model.algorithms if one.mood in ("must", "not")]
    if wishes:
        yield from _of_algorithms(wishes, measured)


def overall(found: Sequence[Judged]) -> Status:
    """pass if everything passes, fail if nothing does."""
    statuses = {one.status for one in found}
    return "pass" if statuses <= {"pass"} else "fail" if statuses == {"fail"} else "partly"


def _of(constraint: Constraint, measured: Measured) -> Judged:
    match constraint.quantity:
        case "score":
            return _of_score(constraint, measured)
        case "training time":
            return _held(constraint, measured.training_seconds, f"{measured.training_seconds:.0f} s")
        case "prediction time":
            times = measured.answering
            if times is None:
                return _unmeasured(constraint, "the endpoint did not start")
            if constraint.per == "set":
                return _held(constraint, times.seconds, f"{times.seconds:.2f} s for {times.rows} rows")
            return _held(constraint, times.milliseconds / 1000, f"{times.milliseconds:.1f} ms a row")
        case "model size":
            return _held(constraint, measured.megabytes * 1e6, f"{measured.megabytes:.2f} MB")
        case "parameters":
            return _of_parameters(constraint, measured)


def _held(constraint: Constraint, value: float, words: str) -> Judged:
    status: Status = "pass" if COMPARISONS[constraint.comparison](value, constraint.value) else "fail"
    return Judged(constraint=constraint, wish=str(constraint), measured=words, status=status)


def _unmeasured(constraint: Constraint, why: str) -> Judged:
    return Judged(constraint=constraint, wish=str(constraint), measured=f"not measured: {why}", status="fail")


def _of_parameters(constraint: Constraint, measured: Measured) -> Judged:
    """partly where no member has any: a limit on them was meant for something."""
    counts = measured.parameters
    if counts is None:
        return _unmeasured(constraint, "the fitted models cannot be read")
    kinds = dict.fromkeys(measured.members[name] for name, count in counts.items() if not count)
    without = f"{', '.join(kinds)} {'has' if len(kinds) == 1 else 'have'} none that could be counted" if kinds else ""
    total = sum(counts.values())
    if not total:
        return Judged(constraint=constraint, wish=str(constraint), measured=without, status="partly")
    return _held(constraint, total, "; ".join(filter(None, (f"{total:,} in all fitted models", without))))


def _of_score(constraint: Constraint, measured: Measured) -> Judged:
    """pass by the value, partly where it is missed by no more than noise."""
    holds = COMPARISONS[constraint.comparison]
    score = measured.scores.get(constraint.metric) if constraint.metric else next(iter(measured.scores.values()), None)
    if score is None:
        return _unmeasured(constraint, f"{constraint.metric} cannot be computed on these rows")
    words = f"{score.metric} {score.value:.4f} {measured.scored} (95 % interval {score.low:.4f} to {score.high:.4f})"
    best = score.high if constraint.comparison in (">", ">=") else score.low
    status: Status = "partly" if holds(best, constraint.value) else "fail"
    if holds(score.value, constraint.value):
        status = "pass"
    return Judged(constraint=constraint, wish=str(constraint), measured=words, status=status)


def _of_algorithms(wishes: Sequence[AlgorithmWish], measured: Measured) -> Iterator[Judged]:
    """Whether the members are of those that were asked for, which may be families; `ensemble` is about their number."""
    algorithms = tuple(measured.members.values())
    used = ", ".join(dict.fromkeys(algorithms))
    for mood, words in (("must", "only"), ("not", "no")):
        names = sorted(one.name for one in wishes if one.mood == mood and one.name != ENSEMBLE)
        if names:
            members, family = set(algorithms), {algorithm for name in names for algorithm in meant(name)}
            ok = members <= family if mood == "must" else not members & family
            yield Judged(wish=f"{words} {' or '.join(names)}", measured=used, status="pass" if ok else "fail")
    for one in wishes:
        if one.name == ENSEMBLE:
            several, count = one.mood == "must", len(algorithms)
            wish = "several models together" if several else "a single model"
            told = f"{count} model{'s' * (count != 1)}"
            yield Judged(wish=wish, measured=told, status="pass" if (count > 1) == several else "fail")
