"""Class weights and resampling for any classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter, validate_data

from palmette.automl.learners.wrapping import Wrapper


class Rebalanced(ClassifierMixin, Wrapper):
    """A classifier that is trained as if all classes were equally frequent.

    Args:
        estimator: The classifier.
        how: `weights` weighs rows by the inverse frequency of their class, or repeats rows where the classifier takes
            no weights; `oversample` repeats rows of rare classes; `undersample` leaves out rows of frequent classes.
        random_state: Seed of the choice of rows.
    """

    def __init__(self, estimator: Any, how: str = "weights", random_state: int = 0) -> None:
        super().__init__(estimator)
        self.how = how
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Rebalanced:
        rows, target, weights = self.rebalanced(X, y)
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(rows, target, **({} if weights is None else {"sample_weight": weights}))
        return self

    def rebalanced(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Rows and classes to train on, and their weights, if any."""
        X, y = validate_data(self, X, y, **self._taken)
        check_classification_targets(y)
        if self.how == "weights" and has_fit_parameter(self.estimator, "sample_weight"):
            return X, y, compute_sample_weight("balanced", y)
        random = np.random.default_rng(self.random_state)
        classes, counts = np.unique(y, return_counts=True)
        size = counts.min() if self.how == "undersample" else counts.max()
        taken = [_drawn_rows(np.flatnonzero(y == one), int(size), random) for one in classes]
        places = np.sort(np.concatenate(taken))
        return X[places], y[places], None


def _drawn_rows(places: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Every row before any is repeated."""
    whole, rest = divmod(size, len(places))
    return np.concatenate([np.tile(places, whole), random.choice(places, rest, replace=False)])
