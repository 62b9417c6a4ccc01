"""What the request demands of every plan: which learners, one model or several, limits on time and size."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from palmette.automl.candidates import Ensembling
from palmette.automl.composition import available_learners, meant
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import Cost
from palmette.automl.task_spec.spec import Constraint, Preference, TaskSpec

Aim = Literal["usual", "limited", "lean", "explain", "score"]
"""What plans are for: nothing special; a limit on latency or size; little of everything; a model that people can read;
a score that was missed."""
ESTIMATED = ("training_time", "latency", "size")
"""Quantities of a constraint that can be estimated before anything is trained."""
HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
"""By comparison: whether a value keeps a limit."""
MARGIN = 5.0
"""A limit is taken as out of reach where an unmeasured estimate misses it by this factor."""


class Constraints(NamedTuple):
    """What plans keep to."""

    allowed: tuple[str, ...]
    """Learners that may be planned, in the order in which they are tried."""
    required: tuple[str, ...]
    """Names in the request that the delivered model must be one of."""
    preferred: tuple[str, ...]
    """Learners that are tried first."""
    compared: tuple[str, ...]
    """Learners that every plan trains because the request compares with them."""
    ensembling: Ensembling | None
    """None where the request leaves it open."""
    preferences: frozenset[Preference]
    limits: tuple[Constraint, ...]
    """Upper bounds that can be estimated before training."""


class Need(NamedTuple):
    """A limit, and what a candidate is expected to need of it."""

    constraint: Constraint
    value: float
    """In the unit of the constraint."""

    @property
    def ratio(self) -> float:
        return self.value / self.constraint.value if self.constraint.value > 0 else float("inf")

    def __str__(self) -> str:
        return f"{self.constraint} is required, and about {self.value:.2g} is expected"


def constraints_of(task: TaskSpec, facts: DataFacts) -> Constraints:
    """The demands of a task, of the learners that are available; nothing is allowed where it wants only others."""
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
    """What a cost means for each limit."""
    values = {"training_time": cost.seconds, "latency": cost.milliseconds / 1000, "size": cost.megabytes * 1e6}
    return [Need(one, values[one.quantity]) for one in limits]


def worst(cost: Cost, limits: Iterable[Constraint]) -> float:
    """The largest ratio of what a cost needs to what is allowed; 0 without limits."""
    return max((one.ratio for one in needs(cost, limits)), default=0.0)


def _wished(task: TaskSpec, level: str) -> list[frozenset[str]]:
    return [meant(one.name) for one in task.learners if one.level == level]


def _learners(task: TaskSpec, level: str) -> frozenset[str]:
    return frozenset[str]().union(*_wished(task, level))
