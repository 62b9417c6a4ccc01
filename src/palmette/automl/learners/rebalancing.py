"""Class weights and resampling for any classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter


class Rebalanced(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Trains a classifier as if all classes were equally frequent.

    Args:
        estimator: The classifier.
        how: `weights` weights rows by the inverse frequency of their class, or repeats rows if the classifier takes
            no weights; `oversample` repeats rows of rare classes; `undersample` leaves out rows of frequent classes.
        random_state: Seed that chooses the rows.
    """

    def __init__(self, estimator: Any, how: str = "weights", random_state: int = 0) -> None:
        self.estimator = estimator
        self.how = how
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Rebalanced:
        rows, target, weights = self.rebalanced(X, y)
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(rows, target, **({} if weights is None else {"sample_weight": weights}))
        return self

    def rebalanced(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Returns rows and classes to train on, and their weights or None."""
        y = np.asarray(y)
        if self.how == "weights" and has_fit_parameter(self.estimator, "sample_weight"):
            return X, y, compute_sample_weight("balanced", y)
        random = np.random.default_rng(self.random_state)
        classes, counts = np.unique(y, return_counts=True)
        size = counts.min() if self.how == "undersample" else counts.max()
        taken = []
        for one in classes:  # use every row before repeating any
            rows = np.flatnonzero(y == one)
            whole, rest = divmod(int(size), len(rows))
            taken += [np.tile(rows, whole), random.choice(rows, rest, replace=False)]
        places = np.sort(np.concatenate(taken))
        return X[places], y[places], None

    def predict(self, X: Any) -> np.ndarray:
        return np.ravel(self.estimator_.predict(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        return self.estimator_.predict_proba(X)

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator_.classes_
