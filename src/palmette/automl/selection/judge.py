"""How good outputs are for the metric of the run: the one measure by which candidates and ensembles are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure import Interval, Units, difference, interval
from palmette.automl.measure.confusion import FORMULAS, MOVED
from palmette.automl.measure.metrics import Floats, Metric, Predictions, score
from palmette.automl.selection.decision import Decision

ROUNDS = 100
"""Resamples of an interval: many candidates get one, and its ends need not be exact."""


def _as_it_is(values: Floats) -> Floats:
    return values


class Scorer(Protocol):
    """What is asked about the outputs of candidates on the training rows, by whoever chooses one."""

    metric: Metric
    blends: bool
    """Whether a mean of outputs is an output, so that several candidates may be delivered together."""
    measured: str
    """Where scores are from, in words."""

    def worth(self, outputs: Floats) -> float:
        """By what the best is chosen; greater is better."""

    def class_weights(self, outputs: Floats) -> tuple[float, ...] | None:
        """The decision to keep for these outputs; None where there is none to take."""

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        """What a project answers for these outputs."""

    def score(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> float:
        """The metric's own value."""

    def interval(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Interval:
        """How far that may be off by chance."""

    def gain(self, outputs: Floats, other: Floats) -> Interval:
        """By how much the first outputs are better than the others, each at its own decision; positive is better."""


class Judge:
    """Scores the outputs of models for a target on the training rows."""

    blends = True
    measured = "out of fold"

    def __init__(
        self,
        metric: Metric,
        truth: NDArray[np.generic],
        *,
        classes: tuple[str, ...] = (),
        positive: str | None = None,
        restore: Callable[[Floats], Floats] = _as_it_is,
        units: Units | None = None,
    ) -> None:
        """`truth` is (n,): class names or numbers; `restore` takes outputs to the unit of the target.

        `units` (n,) are equal for rows that intervals draw together.
        """
        self.units = units
        self.metric, self.truth, self.classes, self.positive, self.restore = metric, truth, classes, positive, restore
        self._decision: Decision | None = None
        if classes and metric.name in FORMULAS:
            place = {name: number for number, name in enumerate(classes)}
            numbers = np.array([place[str(one)] for one in truth], dtype=np.intp)
            self._decision = Decision(metric.name, numbers, len(classes), place[positive or classes[-1]])

    def worth(self, outputs: Floats) -> float:
        """Greater is better; of labels, at the decision that suits these outputs."""
        if self._decision is None:
            value = self.score(outputs)
            return value if self.metric.greater_is_better else -value
        if self.metric.name not in MOVED:
            return self._decision.score(outputs)
        return self._decision.score(outputs, np.exp(self._decision.best(outputs)))

    def class_weights(self, outputs: Floats) -> tuple[float, ...] | None:
        """The decision to keep for these outputs; None is the most probable class."""
        return self._decision.weights(outputs) if self._decision and self.metric.name in MOVED else None

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        """What a project answers for these outputs."""
        if not self.classes:
            return Predictions(self.restore(outputs))
        weighted = outputs if class_weights is None else outputs * np.array(class_weights)
        return Predictions(np.array(self.classes)[weighted.argmax(axis=1)], outputs, self.classes)

    def score(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> float:
        """The metric's own value."""
        return score(self.metric, self.truth, self.predictions(outputs, class_weights), self.positive)

    def interval(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Interval:
        """Of the score, by resampled rows or units."""
        said = self.predictions(outputs, class_weights)
        return interval(self.metric, self.truth, said, self.positive, units=self.units, rounds=ROUNDS)

    def gain(self, outputs: Floats, other: Floats) -> Interval:
        """By how much the first outputs are better than the others, each at its own decision."""
        first, second = (self.predictions(one, self.class_weights(one)) for one in (outputs, other))
        return difference(self.metric, self.truth, first, second, self.positive, units=self.units, rounds=ROUNDS)
