"""Reduces many features to few: their cross-fitted predictions of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

STRENGTHS = np.logspace(0, 5, 11)


class CrossFittedScores(TransformerMixin, BaseEstimator):
    """The outputs of a ridge regression of the target on features (n, d), dense or sparse.

    Each training row gets the output of a regression that was fitted without it. There is one score for each of three
    or more classes, else a single one.

    Args:
        kind: `classes` or `number`, the type of the target.
        alpha: Strength of the penalty; None to choose it by leave-one-out.
        n_splits: Number of folds.
    """

    def __init__(self, kind: str, alpha: float | None = None, n_splits: int = 5) -> None:
        self.kind = kind
        self.alpha = alpha
        self.n_splits = n_splits

    def fit(self, X: Any, y: Any) -> CrossFittedScores:
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        targets = self._learn(X, y)
        scores = np.empty(targets.shape)
        folds = KFold(min(self.n_splits, len(targets)), shuffle=True, random_state=0)
        for train, rest in folds.split(scores):
            scores[rest] = self._ridge().fit(X[train], targets[train]).predict(X[rest]).reshape(len(rest), -1)
        return scores

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(X).reshape(X.shape[0], -1)

    def _learn(self, X: Any, y: Any) -> np.ndarray:
        y = np.asarray(y)
        targets = LabelBinarizer().fit_transform(y) if self.kind == "classes" else y.reshape(-1, 1)
        targets = targets.astype("float64")
        self.alpha_ = RidgeCV(STRENGTHS).fit(X, targets).alpha_ if self.alpha is None else self.alpha
        self.model_ = self._ridge().fit(X, targets)
        self.scores_ = targets.shape[1]
        return targets

    def _ridge(self) -> Ridge:
        return Ridge(alpha=self.alpha_, solver="lsqr" if self.alpha else "auto", tol=1e-3)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([f"score_{place}" for place in range(self.scores_)], dtype=object)
