"""Whether a candidate can keep a constraint, by what it is expected to cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from palmette.automl.artefacts import Expectation
from palmette.automl.planning.costs import Cost
from palmette.automl.planning.costs import costs as table
from palmette.automl.requirements import Constraint

MARGIN = 5.0
"""By how many times an estimate must miss a constraint for it to be taken as one that cannot be kept."""
SETTINGS = 2
"""Settings in which an ensemble has an algorithm, about."""


class Needed(NamedTuple):
    """A constraint on time or size, and what a candidate would need of it."""

    constraint: Constraint
    value: float
    """In the unit of the constraint."""

    @property
    def times(self) -> float:
        """What is needed, as a share of what is allowed."""
        return self.value / self.constraint.value if self.constraint.value > 0 else float("inf")

    def __str__(self) -> str:
        return f"{self.constraint} is asked for, and about {self.value:.2g} is expected"


def needs(needed: Cost | Expectation, limits: Iterable[Constraint]) -> list[Needed]:
    """What a cost means for each limit that bounds from above and can be told beforehand."""
    values = {
        "training time": needed.seconds,
        "prediction time": needed.milliseconds / 1000,
        "model size": needed.megabytes * 1e6,
    }
    return [Needed(one, values[one.quantity]) for one in limits if one.comparison in ("<", "<=") and one.per != "set"]


def together(costs: Iterable[Cost | Expectation]) -> Cost:
    """What several models cost that answer together, each in some settings.

    To train, it is as much as the quickest of them: the rest may be left out.
    """
    each, prepared = list(costs), table().milliseconds
    return Cost(
        seconds=min(one.seconds for one in each),
        megabytes=SETTINGS * sum(one.megabytes for one in each),
        milliseconds=prepared + SETTINGS * sum(one.milliseconds - prepared for one in each),
    )
