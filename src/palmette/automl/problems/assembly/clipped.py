"""Predictions that stay near the values that were learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone


class ClippedRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """Keeps the predictions of a regressor within the range of its training targets and a margin.

    Beyond that range a line goes on where nothing is known. `margin` is a share of the range; predictions are never
    negative where no target is.
    """

    def __init__(self, regressor: Any, margin: float = 0.1) -> None:
        self.regressor = regressor
        self.margin = margin

    def fit(self, X: Any, y: Any) -> ClippedRegressor:
        low, high = float(np.min(y)), float(np.max(y))
        beyond = self.margin * (high - low)
        self.range_ = (max(low - beyond, 0.0) if low >= 0 else low - beyond, high + beyond)
        self.regressor_ = clone(self.regressor).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(np.clip(self.regressor_.predict(X), *self.range_))
