"""Timestamps as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin


class DatetimeParts(TransformerMixin, BaseEstimator):
    """Parts of the calendar of each column of timestamps, and the days since 1970; learns nothing.

    Args:
        parts: By column: `month` (1-12), `day` (of the month), `weekday` (Monday is 0), `hour` (with minutes as a
            fraction), `days` (since 1970, with the time of day as a fraction).
    """

    def __init__(self, parts: Mapping[str, Sequence[str]]) -> None:
        self.parts = parts

    def fit(self, X: pd.DataFrame, y: Any = None) -> DatetimeParts:
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        made = {f"{name}_{part}": _part(X[name], part) for name, parts in self.parts.items() for part in parts}
        return pd.DataFrame(made, index=X.index, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([f"{name}_{part}" for name, parts in self.parts.items() for part in parts], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _part(column: pd.Series, part: str) -> np.ndarray:
    if part == "days":
        return (column.to_numpy("datetime64[ns]") - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    timestamps = pd.DatetimeIndex(column)
    values = timestamps.hour + timestamps.minute / 60 if part == "hour" else getattr(timestamps, part)
    return np.asarray(values, dtype="float64")
