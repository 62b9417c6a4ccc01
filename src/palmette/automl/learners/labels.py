"""Encodes class names for classifiers that only take numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.preprocessing import LabelEncoder


class LabelEncodedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Trains a classifier on class numbers 0, 1, ... in place of class names."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LabelEncodedClassifier:
        labels = LabelEncoder().fit(y)
        self.classes_ = labels.classes_
        if "eval_set" in options:
            options["eval_set"] = [(rows, labels.transform(target)) for rows, target in options["eval_set"]]
        options |= {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, labels.transform(y), **options)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.estimator_.predict_proba(X)
