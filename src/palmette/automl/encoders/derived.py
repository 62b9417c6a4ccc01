"""Features that are computed from other columns of the same row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

OPERATIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "sum": lambda *values: np.sum(values, axis=0),
    "difference": lambda first, second: first - second,
    "product": lambda *values: np.prod(values, axis=0),
    "ratio": lambda first, second: first / np.where(second == 0, np.nan, second),
    "mean": lambda *values: np.mean(values, axis=0),
    "least": lambda *values: np.min(values, axis=0),
    "greatest": lambda *values: np.max(values, axis=0),
    "square": lambda value: value**2,
    "log": lambda value: np.sign(value) * np.log1p(np.abs(value)),
    "elapsed": lambda first, second: second - first,
    "missing": lambda *values: np.isnan(values).sum(axis=0).astype("float64"),
}
"""Of columns of numbers; of days since 1970 for `elapsed`. The result is missing where one value is."""


class DerivedFeatures(TransformerMixin, BaseEstimator):
    """Adds columns of numbers to a frame; learns nothing.

    Args:
        features: By name of the new column: an operation of `OPERATIONS` and the columns that it takes.
    """

    def __init__(self, features: Mapping[str, tuple[str, Sequence[str]]]) -> None:
        self.features = features

    def fit(self, X: pd.DataFrame, y: Any = None) -> DerivedFeatures:
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        made = {}
        for name, (operation, columns) in self.features.items():
            with np.errstate(all="ignore"):
                values = np.asarray(OPERATIONS[operation](*(_values(X[column]) for column in columns)))
            made[name] = np.where(np.isfinite(values), values, np.nan)
        return X.assign(**made)

    def get_feature_names_out(self, input_features: Sequence[str]) -> np.ndarray:
        return np.array([*input_features, *self.features], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _values(column: pd.Series) -> np.ndarray:
    if column.dtype.kind == "M":
        return (column.to_numpy("datetime64[ns]") - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    return column.to_numpy("float64")
