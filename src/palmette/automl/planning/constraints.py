"""What plans aim at: the request's demands on learners, time and size, and the strategies that serve an aim."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from palmette.automl.candidates import Ensembling
from palmette.automl.composition import available_learners, meant
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.kinds import Track
from palmette.automl.learners.learner import Cost
from palmette.automl.problem_traits import learning_task
from palmette.automl.task_spec.spec import Constraint, Preference, TaskSpec
from palmette.documents import load_plain

Aim = Literal["usual", "limited", "lean", "explain", "score"]
"""The goal of plans: none in particular; a limit on latency or size; low cost overall; a readable model; or a score
that an earlier plan missed.
"""
ESTIMATED = ("training_time", "latency", "size")  # constraint quantities that can be estimated before training
HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
"""Tests, by comparison operator, whether a value keeps a limit."""
MARGIN = 5.0  # factor by which an unmeasured estimate must exceed a limit to count as out of reach
SHARES: Mapping[Track, float] = {"traditional": 0.6, "neural": 0.2, "pretrained": 0.4}
"""Share of the training time by track, scaled later to the tracks of a plan."""


class Constraints(NamedTuple):
    """The demands on plans."""

    allowed: tuple[str, ...]  # learners that plans may use, in order of priority
    required: tuple[str, ...]
    """Learners or families named by the request; the delivered model must be one of them."""
    preferred: tuple[str, ...]  # learners to try first
    compared: tuple[str, ...]  # learners that every plan trains for comparison, at the request's demand
    ensembling: Ensembling | None  # None if the request does not specify it
    preferences: frozenset[Preference]
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
    forbidden = _learners(task, "forbidden")
    required = tuple(one.name for one in task.learners if one.level == "required")
    wishes = [wish for level in ("required", "preferred") for wish in _wished(task, level)]
    first = [name for wish in wishes for name in here if name in wish]
    allowed = [name for name in dict.fromkeys([*first, *here]) if name not in forbidden]
    if required:
        allowed = [name for name in allowed if name in _learners(task, "required")]
    return Constraints(
        allowed=tuple(allowed),
        required=required,
        preferred=tuple(name for name in dict.fromkeys(first) if name in allowed),
        compared=tuple(name for name in here if name in _learners(task, "baseline") and name in allowed),
        ensembling={True: "weighted", False: "single", None: None}[task.ensemble],
        preferences=frozenset(task.prefer),
        limits=tuple(one for one in task.constraints if one.quantity in ESTIMATED and one.comparison in ("<", "<=")),
    )


def needs(cost: Cost, limits: Iterable[Constraint]) -> list[Need]:
    """Returns the expected value for each limit."""
    values = {"training_time": cost.seconds, "latency": cost.milliseconds / 1000, "size": cost.megabytes * 1e6}
    return [Need(one, values[one.quantity]) for one in limits]


def worst(cost: Cost, limits: Iterable[Constraint]) -> float:
    """Returns the largest ratio of an expected value to its limit, or 0 without limits."""
    return max((one.ratio for one in needs(cost, limits)), default=0.0)


def _wished(task: TaskSpec, level: str) -> list[frozenset[str]]:
    return [meant(one.name) for one in task.learners if one.level == level]


def _learners(task: TaskSpec, level: str) -> frozenset[str]:
    return frozenset[str]().union(*_wished(task, level))


class PlanStrategy(NamedTuple):
    """An assumption about the data that leads to a plan, independent of the request."""

    name: str
    idea: str
    learners: tuple[str, ...] = ()  # learners and families in training order; empty for all, by rank
    each: int = 0  # most default configurations per learner; 0 for all
    tuning: bool = True
    ensembling: Ensembling = "best"
    least: int = 1  # number of different learners that the strategy needs


@cache
def _known() -> dict[str, Any]:
    known: dict[str, Any] = load_plain(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return known


def strategies(problem: str, aim: Aim) -> list[PlanStrategy]:
    """Returns the strategies for a problem, the most promising for the aim first."""
    known, task = _known()["strategies"], learning_task(problem)
    own = known.get(problem, known.get(task, []))
    listed = own if task in ("clustering", "forecasting") else [*own, *known["supervised"]]
    found = [PlanStrategy(**{**one, "learners": tuple(one.get("learners", ()))}) for one in listed]
    order = {name: place for place, name in enumerate(_known()["first"][aim])}
    return sorted(found, key=lambda one: order.get(one.name, len(order)))


def shares(tracks: Iterable[Track], asked: Iterable[Track]) -> dict[Track, float]:
    """Returns each track's share of the training time; equal if the request names tracks."""
    weights = {one: 1.0 if list(asked) else SHARES[one] for one in dict.fromkeys(tracks)}
    total = sum(weights.values())
    return {track: round(weight / total, 3) for track, weight in weights.items()}
