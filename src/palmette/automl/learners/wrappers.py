"""Wrappers of scikit-learn estimators, and preparations of their features, that are delivered with a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.ensemble import VotingClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data


class ProbabilityClassifier(ClassifierMixin):
    """Predicts the most probable class; subclasses implement `predict_proba`."""

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


@dataclass(eq=False, repr=False)
class LabelEncodedClassifier(ProbabilityClassifier, MetaEstimatorMixin, BaseEstimator):
    """Trains a classifier on class numbers 0, 1, ... in place of class names."""

    estimator: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Self:
        labels = LabelEncoder().fit(y)
        self.classes_ = labels.classes_
        if "eval_set" in options:
            options["eval_set"] = [(rows, labels.transform(target)) for rows, target in options["eval_set"]]
        options |= {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, labels.transform(y), **options)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.estimator_.predict_proba(X)


@dataclass(eq=False, repr=False)
class Rebalanced(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Trains a classifier as if all classes were equally frequent."""

    estimator: Any  # the classifier
    # `weights` weights rows by the inverse frequency of their class, or repeats rows if the classifier takes no
    # weights; `oversample` repeats rows of rare classes; `undersample` leaves out rows of frequent classes
    how: str = "weights"
    random_state: int = 0  # seed that chooses the rows

    def fit(self, X: Any, y: Any) -> Self:
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


@dataclass(eq=False, repr=False)
class LogCountRatio(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiplies columns by the log of how much more often they occur in one of two classes (Wang and Manning, 2012).

    Columns with negative values are not word weights; they stay as they are.
    """

    smoothing: float = 0.1

    def fit(self, X: Any, y: Any) -> Self:
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


def whole_codes(features: Any, columns: Sequence[int]) -> pd.DataFrame:
    """Returns features (n, d) with whole numbers as codes; missing and unknown categories form one category."""
    return pd.DataFrame(features).fillna(dict.fromkeys(columns, -1)).astype(dict.fromkeys(columns, int))


@dataclass(eq=False, repr=False)
class ClippedRegressor(RegressorMixin, BaseEstimator):
    """Clips predictions to the range of the training targets plus a margin, and at 0 if no target is negative."""

    regressor: Any
    margin: float = 0.1

    def fit(self, X: Any, y: Any) -> Self:
        low, beyond = float(np.min(y)), self.margin * float(np.ptp(y))
        self.range_ = (max(low - beyond, 0.0) if low >= 0 else low - beyond, float(np.max(y)) + beyond)
        self.regressor_ = clone(self.regressor).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(np.clip(self.regressor_.predict(X), *self.range_))


@dataclass(eq=False, repr=False)
class DecidedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Weights the probabilities of another classifier to choose the class; returned probabilities stay as they are."""

    estimator: Any  # the classifier
    class_weights: Mapping[str, float]  # weight of each class by name; 1 for classes without one

    def fit(self, X: Any, y: Any) -> Self:
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


class MajorityClassifier(ProbabilityClassifier, VotingClassifier):
    """`VotingClassifier(voting="hard")` with probabilities: the weighted share of votes for each class."""

    def predict_proba(self, X: Any) -> np.ndarray:
        numbers = np.arange(len(self.classes_))
        votes = [np.asarray(one.predict(X)).ravel()[:, None] == numbers for one in self.estimators_]
        return np.asarray(np.average(votes, axis=0, weights=self.weights))
