"""A decision that suits the metric: predicts the class with the largest weighted probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone


class DecidedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Weights the probabilities of another classifier to choose the class; returned probabilities stay as they are.

    Args:
        estimator: The classifier.
        class_weights: Weight of each class by name; 1 for classes without one.
    """

    def __init__(self, estimator: Any, class_weights: Mapping[str, float]) -> None:
        self.estimator = estimator
        self.class_weights = class_weights

    def fit(self, X: Any, y: Any) -> DecidedClassifier:
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.decide(self.predict_proba(X))

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        """Returns the class for each row of probabilities (n, k)."""
        weights = [self.class_weights.get(str(name).removesuffix(".0"), 1.0) for name in self.classes_]
        return np.asarray(self.classes_[(probabilities * weights).argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.estimator_.predict_proba(X))
