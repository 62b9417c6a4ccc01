"""Categories as numbers, for trees."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class CategoryCodes(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Each category becomes its rank by frequency, 0 for the most frequent one; unknown and missing ones become NaN.

    Args:
        many: Number of categories of a column above which those of a single row are dropped: they teach nothing.
    """

    def __init__(self, many: int = 30) -> None:
        self.many = many

    def fit(self, X: Any, y: Any = None) -> CategoryCodes:
        X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        self.codes_ = [self._codes(column) for column in X.T]
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=False)
        made = [[codes.get(value, np.nan) for value in column] for codes, column in zip(self.codes_, X.T, strict=True)]
        return np.array(made, dtype="float64").reshape(len(made), len(X)).T

    def _codes(self, column: np.ndarray) -> dict[Any, float]:
        counts = Counter(value for value in column.tolist() if value is not None and value == value)
        least = 2 if len(counts) > self.many else 1
        ranked = sorted((-count, str(value), value) for value, count in counts.items() if count >= least)
        return {value: float(rank) for rank, (_, _, value) in enumerate(ranked)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
