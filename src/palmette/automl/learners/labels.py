"""Classes of any kind for classifiers that take numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from palmette.automl.learners.wrapping import Wrapper


class LabelEncodedClassifier(ClassifierMixin, Wrapper):
    """A classifier that learns the numbers 0, 1, ... in place of the classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LabelEncodedClassifier:
        X, y = validate_data(self, X, y, **self._taken)
        check_classification_targets(y)
        self.labels_ = LabelEncoder().fit(y)
        if "eval_set" in options:
            options["eval_set"] = [(rows, self.labels_.transform(target)) for rows, target in options["eval_set"]]
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(X, self.labels_.transform(y), sample_weight=sample_weight, **options)
        return self

    def predict(self, X: Any) -> np.ndarray:
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    @property
    def classes_(self) -> np.ndarray:
        return self.labels_.classes_
