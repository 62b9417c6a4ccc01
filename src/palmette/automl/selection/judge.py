"""How good outputs are for the metric of the run: the one measure by which candidates and ensembles are compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.metrics import Floats, Metric, Predictions, score
from palmette.automl.selection.confusion import FORMULAS, MOVED
from palmette.automl.selection.decision import Decision


def _as_it_is(values: Floats) -> Floats:
    return values


class Judge:
    """Scores the outputs of models on the training rows."""

    def __init__(
        self,
        metric: Metric,
        truth: NDArray[np.generic],
        *,
        classes: tuple[str, ...] = (),
        positive: str | None = None,
        restore: Callable[[Floats], Floats] = _as_it_is,
    ) -> None:
        """`truth` is (n,): class names or numbers; `restore` takes outputs to the unit of the target."""
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
