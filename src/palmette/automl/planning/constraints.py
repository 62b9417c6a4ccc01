"""What plans aim at: the request's demands on learners, time and size, the strategies that serve an aim, and costs.

Costs of candidates are estimated, and corrected by the measurements of earlier rounds.
"""

import hashlib
import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from palmette.automl.artefacts import MeasuredCandidate, MeasuredRound, Plan
from palmette.automl.candidates import Candidate, Cost, Ensembling, substance
from palmette.automl.composition import available_learners, encoders_of, learner_named, meant, wished
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.kinds import Track
from palmette.automl.problem_traits import learning_task
from palmette.automl.task_spec.spec import Constraint, TaskSpec
from palmette.documents import read_plain

Aim = Literal["usual", "limited", "lean", "explain", "score"]
"""The goal of plans: none in particular; a limit on latency or size; low cost overall; a readable model; or a score
that an earlier plan missed.
"""
ESTIMATED = ("training_time", "latency", "size")  # constraint quantities that can be estimated before training
HOLDS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
"""Tests, by comparison operator, whether a value keeps a limit."""
MARGIN = 5.0  # factor by which an unmeasured estimate must exceed a limit to count as out of reach
SHARES: Mapping[Track, float] = {"traditional": 0.6, "neural": 0.2, "pretrained": 0.4}
"""Share of the training time by track, scaled later to the tracks of a plan."""
REQUEST = 6.0  # milliseconds of a one-row request outside the model: HTTP, and reading and encoding the row
ENSEMBLE_SIZE = 4  # number of members assumed for the estimate of an ensemble
LEAST_MEASURED = 3  # number of measured learners required before their times correct the estimates of others
LARGEST_CORRECTION = 5.0  # largest factor by which other learners' times correct an estimate


class Constraints(NamedTuple):
    allowed: tuple[str, ...]  # learners that plans may use, in order of priority
    required: tuple[str, ...]
    """Learners or families named by the request; the delivered model must be one of them."""
    preferred: tuple[str, ...]  # learners to try first
    compared: tuple[str, ...]  # learners that every plan trains for comparison, at the request's demand
    limits: tuple[Constraint, ...]  # upper bounds that can be estimated before training


class Need(NamedTuple):
    """A limit, and the value expected of a candidate."""

    constraint: Constraint
    value: float  # in the constraint's unit

    @property
    def ratio(self) -> float:
        return self.value / self.constraint.value if self.constraint.value > 0 else float("inf")

    def __str__(self) -> str:
        return f"{self.constraint} is required, and about {self.value:.2g} is expected"


def constraints_of(task: TaskSpec, facts: DataFacts) -> Constraints:
    """Returns a task's demands on the available learners; allows none if the task requires unavailable ones."""
    here = available_learners(facts.problem, facts.kinds, task.tracks, facts.rows)
    forbidden = wished(task.learners, "forbidden")
    required = tuple(one.name for one in task.learners if one.level == "required")
    wishes = [meant(one.name) for level in ("required", "preferred") for one in task.learners if one.level == level]
    first = [name for wish in wishes for name in here if name in wish]
    allowed = [name for name in dict.fromkeys([*first, *here]) if name not in forbidden]
    if required:
        allowed = [name for name in allowed if name in wished(task.learners, "required")]
    return Constraints(
        allowed=tuple(allowed),
        required=required,
        preferred=tuple(name for name in dict.fromkeys(first) if name in allowed),
        compared=tuple(name for name in here if name in wished(task.learners, "baseline") and name in allowed),
        limits=tuple(one for one in task.constraints if one.quantity in ESTIMATED and one.comparison in ("<", "<=")),
    )


def needs(cost: Cost, limits: Iterable[Constraint]) -> list[Need]:
    """Returns the expected value for each limit."""
    values = {"training_time": cost.seconds, "latency": cost.milliseconds / 1000, "size": cost.megabytes * 1e6}
    return [Need(one, values[one.quantity]) for one in limits]


def worst(cost: Cost, limits: Iterable[Constraint]) -> float:
    """Returns the largest ratio of an expected value to its limit, or 0 without limits."""
    return max((one.ratio for one in needs(cost, limits)), default=0.0)


class PlanStrategy(NamedTuple):
    """An assumption about the data that leads to a plan, independent of the request."""

    name: str
    idea: str
    learners: tuple[str, ...] = ()  # learners and families in training order; empty for all, by rank
    each: int = 0  # most default configurations per learner; 0 for all
    tuning: bool = True
    ensembling: Ensembling = "best"
    least: int = 1  # number of different learners that the strategy needs


def strategies(problem: str, aim: Aim) -> list[PlanStrategy]:
    """Returns the strategies for a problem, the most promising for the aim first."""
    known, task = read_plain(Path(__file__).with_suffix(".yaml")), learning_task(problem)
    by_problem = known["strategies"]
    own = by_problem.get(problem, by_problem.get(task, []))
    listed = own if task in ("clustering", "forecasting") else [*own, *by_problem["supervised"]]
    found = [PlanStrategy(**{**one, "learners": tuple(one.get("learners", ()))}) for one in listed]
    order = {name: place for place, name in enumerate(known["first"][aim])}
    return sorted(found, key=lambda one: order.get(one.name, len(order)))


def shares(tracks: Iterable[Track], asked: Iterable[Track]) -> dict[Track, float]:
    """Returns each track's share of the training time; equal if the request names tracks."""
    weights = {one: 1.0 if list(asked) else SHARES[one] for one in dict.fromkeys(tracks)}
    total = sum(weights.values())
    return {track: round(weight / total, 3) for track, weight in weights.items()}


@dataclass(frozen=True)
class Costs:
    """Estimates the costs of candidates on the data described by `facts`."""

    facts: DataFacts
    rounds: tuple[MeasuredRound, ...] = ()

    def of(self, candidate: Candidate) -> Cost:
        """Returns the cost to train on all folds, store, and answer a one-row request, to two significant digits."""
        expected, known = self._expected(candidate), self.measured.get(substance(candidate))
        seconds = known.seconds if known else expected.seconds * self._slowness(candidate.learner)
        return self._corrected(seconds, [expected])

    def together(self, candidates: Sequence[Candidate]) -> Cost:
        """Returns the cost of an ensemble of the cheapest candidates; training time is that of the fastest alone."""
        cheapest = sorted(map(self._expected, candidates))[:ENSEMBLE_SIZE]
        return self._corrected(min(self.of(one).seconds for one in candidates), cheapest)

    def _corrected(self, seconds: float, expected: Sequence[Cost]) -> Cost:
        due, (megabytes, milliseconds) = _sum(expected), self._factors
        found = (seconds, due.megabytes * megabytes, due.milliseconds * milliseconds)
        return Cost(*(float(f"{value:.2g}") for value in found))

    def _expected(self, candidate: Candidate) -> Cost:
        cost = learner_named(candidate.learner).cost(self.facts)
        encoding = sum(one.seconds(self.facts) for one in encoders_of(candidate, self.facts))
        return replace(cost, seconds=cost.seconds + self.facts.folds * encoding)

    @cached_property
    def measured(self) -> dict[str, MeasuredCandidate]:
        """The trained candidates of all rounds, by `substance`."""
        return {substance(one.candidate): one for done in self.rounds for one in done.candidates}

    @cached_property
    def _ratios(self) -> dict[str, float]:
        """Ratios of measured to expected seconds, by learner."""
        found: dict[str, list[float]] = {}
        for one in (each for done in self.rounds for each in done.candidates):
            ratio = _ratio(one.seconds, self._expected(one.candidate).seconds)
            found.setdefault(one.candidate.learner, []).append(ratio)
        return {learner: median(ratios) for learner, ratios in found.items()}

    def _slowness(self, learner: str) -> float:
        """Returns the factor for a learner's times, from its own measurements, else from those of several others."""
        if learner in self._ratios:
            return self._ratios[learner]
        usual = median(self._ratios.values()) if len(self._ratios) >= LEAST_MEASURED else 1.0
        return min(max(usual, 1 / LARGEST_CORRECTION), LARGEST_CORRECTION)

    @cached_property
    def _factors(self) -> tuple[float, float]:
        """Ratios of measured to expected size and latency, for the last round's model."""
        if not self.rounds:
            return 1.0, 1.0
        done = self.rounds[-1]
        trained = [one.candidate for one in done.candidates if one.candidate.name in done.selection.names]
        due = _sum([self._expected(one) for one in trained])
        return _ratio(done.megabytes, due.megabytes), _ratio(done.milliseconds or 0.0, due.milliseconds)


def digest(plan: Plan) -> str:
    """Returns a digest that is equal for plans that train and deliver the same, regardless of order and name."""
    ensembling = "single" if len(plan.candidates) == 1 else plan.ensembling
    parts = [sorted(map(substance, plan.candidates)), ensembling, plan.tuning]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _sum(costs: Sequence[Cost]) -> Cost:
    seconds, megabytes = sum(one.seconds for one in costs), sum(one.megabytes for one in costs)
    return Cost(seconds, megabytes, REQUEST + sum(one.milliseconds for one in costs))


def _ratio(measured: float, expected: float) -> float:
    return measured / expected if measured > 0 and expected > 0 else 1.0
