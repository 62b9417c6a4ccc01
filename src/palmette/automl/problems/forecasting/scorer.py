"""Scores forecasts of the training rows, each made from an origin before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure import Metric, Predictions
from palmette.automl.measure.metrics import Floats
from palmette.automl.measure.scorer import SupervisedScorer

POWER = 3.0  # members are weighted by the inverse of their error to this power


class ForecastScorer(SupervisedScorer):
    """Compares outputs (n, targets) on the training rows that are in a fold and have known values."""

    measured = "over rolling origins"

    def __init__(self, metric: Metric, truth: Floats, scales: Floats, units: NDArray[np.int64]) -> None:
        """`truth` and `scales` are (n, targets), NaN to exclude a value; `units` is (n,)."""
        self._known = np.isfinite(truth) & np.isfinite(scales)
        self._scales = scales[self._known] if metric.name == "mase" else np.ones(int(self._known.sum()))
        rows = np.repeat(units[:, None], truth.shape[1], axis=1)[self._known]
        super().__init__(metric, truth[self._known] / self._scales, units=rows)

    def part(self, rows: NDArray[np.bool_]) -> None:
        """Returns None: rows are not independent."""

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        return Predictions(outputs[self._known] / self._scales)

    def stacked(self, outputs: Sequence[Floats]) -> Floats:
        """Returns the mean weighted by error: a linear model would fit the noise of few origins."""
        return self.blended(outputs, self.shares(outputs))

    def shares(self, outputs: Sequence[Floats]) -> list[float]:
        """Returns weights proportional to error to the power of -3: a mean of many forecasts beats choosing one by few
        origins (FFORMA and later competitions).
        """
        errors = np.maximum([abs(self.utility(one)) for one in outputs], 1e-12)
        weights = (errors.min() / errors) ** POWER
        return [float(one) for one in weights / weights.sum()]
