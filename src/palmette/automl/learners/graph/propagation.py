"""Node classifiers without a neural network: they average features or classes over neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone

from palmette.automl.learners.graph.nodes import Nodes


class PropagatedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classifies nodes by features averaged over neighbours (SGC: Wu et al., 2019).

    Args:
        estimator: A classifier of the averaged features.
        hops: How many times to average; the features of several counts are concatenated.
    """

    def __init__(self, estimator: Any, hops: Sequence[int] = (2,)) -> None:
        self.estimator = estimator
        self.hops = hops

    def fit(self, X: Nodes, y: Any) -> PropagatedClassifier:
        self.estimator_ = clone(self.estimator).fit(self._averaged(X)[X.places], y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Nodes) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Nodes) -> np.ndarray:
        return np.asarray(self.estimator_.predict_proba(self._averaged(X)[X.places]))

    def _averaged(self, X: Nodes) -> Any:
        rows, averaging, parts = X.rows, X.averaging, []
        for hop in range(max(self.hops) + 1):
            rows = averaging @ rows if hop else rows
            parts += [rows] if hop in self.hops else []
        return sparse.hstack(parts, format="csr")


class SmoothedClassifier(PropagatedClassifier):
    """Also averages the probabilities over neighbours, starting from known classes (Huang et al., 2021).

    Args:
        estimator: A classifier of the averaged features.
        hops: As in `PropagatedClassifier`.
        steps: How many times to average the probabilities.
        share: Weight of the neighbours; the rest is the node's own.
    """

    def __init__(self, estimator: Any, hops: Sequence[int] = (0,), steps: int = 10, share: float = 0.85) -> None:
        super().__init__(estimator, hops)
        self.steps = steps
        self.share = share

    def fit(self, X: Nodes, y: Any) -> SmoothedClassifier:
        super().fit(X, y)
        self.known_ = X.places, (np.asarray(y)[:, None] == self.classes_[None, :]).astype(float)
        return self

    def predict_proba(self, X: Nodes) -> np.ndarray:
        places, known = self.known_
        start = np.asarray(self.estimator_.predict_proba(self._averaged(X)))
        start[places] = known
        made, averaging = start, X.averaging
        for _ in range(self.steps):
            made = self.share * (averaging @ made) + (1 - self.share) * start
        made = made[X.places]
        return np.asarray(made / made.sum(axis=1, keepdims=True))
