"""Which class to predict, given probabilities: class weights that suit the metric.

The class with the largest weighted probability is predicted; for two classes that is a threshold. The weight of one
class is found exactly on a grid: as it grows, rows move to that class one by one, so one count of where each moves
gives the metric for all weights. The weights are an average over resamples of the rows: one sample's best threshold
is mostly noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.confusion import FORMULAS, counts
from palmette.automl.measure.metrics import Floats

GRID: Floats = np.linspace(-6.0, 6.0, 241)  # logarithms of weights
COST = 0.002  # cost in the unit of the metric for each unit of a weight's logarithm: no weight without a gain
RESAMPLES = 24
MOST_CLASSES = 60  # classes above which every weight stays 1: the counts of all pairs take too much memory
MOST_CELLS = 40_000  # rows times classes that weights are searched on; they are scored on all rows
PASSES = 2


class DecisionSearch:
    """Searches class weights for one metric, on one truth."""

    def __init__(self, metric: str, truth: NDArray[np.intp], classes: int, positive: int) -> None:
        """`truth` is (n,), class numbers."""
        self.metric, self.truth, self.classes, self.positive = metric, truth, classes, positive
        self._formula = FORMULAS[metric]

    def score(self, outputs: Floats, weights: Floats | None = None) -> float:
        """The metric of probabilities (n, k), decided with weights (k,)."""
        predicted = (outputs if weights is None else outputs * weights).argmax(axis=1)
        return float(self._formula(counts(self.truth, predicted, self.classes), self.positive))

    def best(self, outputs: Floats, passes: int = 1) -> Floats:
        """The logarithms of the best weights (k,), for these very rows or, of many, for evenly spaced ones."""
        found = np.zeros(self.classes)
        if self.classes > MOST_CLASSES:
            return found
        step = -(-outputs.size // MOST_CELLS)
        with np.errstate(divide="ignore"):
            logs = np.log(outputs[::step])
        moved = [self.positive] if self.classes == 2 else range(self.classes)
        for _ in range(passes if self.classes > 2 else 1):
            for number in moved:
                found[number] = self._of_one(logs + found, self.truth[::step], number, found[number])
        return found

    def weights(self, outputs: Floats, seed: int = 0) -> tuple[float, ...] | None:
        """Weights (k,) to keep, largest 1; None where they gain nothing over the most probable class."""
        random = np.random.default_rng(seed)
        found = []
        for _ in range(RESAMPLES):
            rows = random.integers(0, len(outputs), len(outputs))
            drawn = DecisionSearch(self.metric, self.truth[rows], self.classes, self.positive)
            found.append(drawn.best(outputs[rows], PASSES))
        weights = np.exp(np.mean(found, axis=0))
        if self.score(outputs, weights) <= self.score(outputs):
            return None
        return tuple(float(one) for one in weights / weights.max())

    def _of_one(self, logs: Floats, truth: NDArray[np.intp], number: int, now: float) -> float:
        """The best logarithm of the weight of one class, which is `now` in `logs` (n, k), as the others are theirs."""
        own = logs[:, number] - now
        others = logs.copy()
        others[:, number] = -np.inf
        rival = others.argmax(axis=1)
        lead = others[np.arange(len(others)), rival] - own
        lead = np.where(np.isnan(lead), np.inf, lead)
        # A row is predicted as this class from the first weight on that is above the lead of its rival.
        place = np.searchsorted(GRID, lead, side="right")
        cells = (place * self.classes + truth) * self.classes + rival
        size = (len(GRID) + 1) * self.classes**2
        gone = np.bincount(cells, minlength=size).reshape(-1, self.classes, self.classes).cumsum(axis=0).astype(float)
        table = gone[-1] - gone[:-1]
        table[:, :, number] += gone[:-1].sum(axis=2)
        worth = self._formula(table, self.positive) - COST * np.abs(GRID)
        return float(GRID[int(worth.argmax())])
