"""Predictions that stay near the training targets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone


class ClippedRegressor(RegressorMixin, BaseEstimator):
    """Clips predictions to the range of the training targets plus a margin, and at 0 if no target is negative."""

    def __init__(self, regressor: Any, margin: float = 0.1) -> None:
        self.regressor = regressor
        self.margin = margin

    def fit(self, X: Any, y: Any) -> Self:
        low, beyond = float(np.min(y)), self.margin * float(np.ptp(y))
        self.range_ = (max(low - beyond, 0.0) if low >= 0 else low - beyond, float(np.max(y)) + beyond)
        self.regressor_ = clone(self.regressor).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(np.clip(self.regressor_.predict(X), *self.range_))
