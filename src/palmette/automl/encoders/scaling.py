"""Scales numbers for models that measure distances or add up features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class SquashingScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Centres each column at its median, divides by the interquartile range, and squashes outliers smoothly.

    All values lie between -`bound` and `bound`, so that outliers keep their order and lose their leverage.
    """

    def __init__(self, bound: float = 3.0) -> None:
        self.bound = bound

    def fit(self, X: Any, y: Any = None) -> SquashingScaler:
        X = validate_data(self, X, dtype="float64")
        low, self.center_, high = np.percentile(X, [25, 50, 75], axis=0)
        width = np.where(high > low, high - low, np.ptp(X, axis=0) / 2)
        self.scale_ = np.where(width > 0, width, 1.0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        scaled = (validate_data(self, X, dtype="float64", reset=False) - self.center_) / self.scale_
        return scaled / np.sqrt(1 + (scaled / self.bound) ** 2)
