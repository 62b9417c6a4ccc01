"""Majority vote, with the share of votes as probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier


class MajorityClassifier(VotingClassifier):
    """`VotingClassifier(voting="hard")` with probabilities: the weighted share of votes for each class."""

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        numbers = np.arange(len(self.classes_))
        votes = [np.asarray(one.predict(X)).ravel()[:, None] == numbers for one in self.estimators_]
        return np.asarray(np.average(votes, axis=0, weights=self.weights))
