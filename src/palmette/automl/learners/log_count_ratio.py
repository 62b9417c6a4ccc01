"""Weights words by how typical they are of a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class LogCountRatio(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiplies columns by the log of how much more often they occur in one of two classes (Wang and Manning, 2012).

    Columns with negative values are not word weights; they stay as they are.
    """

    def __init__(self, smoothing: float = 0.1) -> None:
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any) -> LogCountRatio:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="float64")
        is_last = y == sorted({*y.tolist()})[-1]
        present = X > 0
        last, others = (self.smoothing + np.ravel(present[rows].sum(axis=0)) for rows in (is_last, ~is_last))
        lowest = X.min(axis=0).toarray().ravel() if sparse.issparse(X) else X.min(axis=0)
        ratio = np.log(last / last.sum()) - np.log(others / others.sum())
        self.ratio_ = np.where(lowest >= 0, ratio, 1.0)
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype="float64", reset=False)
        return X @ sparse.diags(self.ratio_) if sparse.issparse(X) else X * self.ratio_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
