"""The estimator contract: what own features and own learners must keep, and how each breach is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression

from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, Strategy
from palmette.automl.estimator_contract import ContractError, check_features, check_learner, sound_outputs
from palmette.automl.problems.problem import problem_of

ROWS = 40
FRAME = pd.DataFrame(
    {"total": np.arange(ROWS) * 1.5, "items": np.arange(ROWS) % 4 * 1.0, "shop": [*"abcd"] * (ROWS // 4)}
)
CLASSES = problem_of(
    Blueprint(
        package="orders",
        title="Orders",
        problem="classification",
        metric="accuracy",
        classes=("no", "yes"),
        rows=ROWS,
        columns=(ColumnUse(name="total", kind="number"),),
        candidates=(Candidate(name="linear", learner="linear"),),
        seconds=5.0,
    )
)
NOTHING = pd.DataFrame({"total": [np.nan], "items": [np.nan], "shop": [None]}, index=[ROWS])


class Good(TransformerMixin, BaseEstimator):
    """Price per piece beside the usual one of the shop."""

    def fit(self, X: Any, y: Any = None) -> Good:
        self.usual_ = self._each(X).groupby(X["shop"]).median()
        return self

    def transform(self, X: Any) -> Any:
        each = self._each(X)
        return pd.DataFrame({"each": each, "usual": X["shop"].map(self.usual_).astype(float)})

    def _each(self, X: Any) -> Any:
        return X["total"] / X["items"].where(X["items"] > 0)


def changed(**methods: Any) -> Any:
    """The good transformer with other methods."""
    return type("Changed", (Good,), methods)()


def of(make: Any) -> Any:
    """A `transform` from a function of the frame."""
    return lambda self, X: make(X)


BREACHES = {
    "not a DataFrame": of(lambda X: X["total"].to_numpy()),
    "changes the rows": of(lambda X: Good._each(Good(), X).dropna().to_frame("each")),
    "not 1 to": of(lambda X: pd.DataFrame(index=X.index)),
    "are columns of X": of(lambda X: X[["total"]]),
    "not float": of(lambda X: pd.DataFrame({"many": (X["total"] > 3).astype(int)})),
    "infinite in some rows": of(lambda X: pd.DataFrame({"each": X["total"] / X["items"]})),
    "changes X": of(lambda X: pd.DataFrame({"each": X["total"].add(1.0, fill_value=X.insert(0, "new", 1.0))})),
    "alone": of(lambda X: pd.DataFrame({"rank": X["total"].rank()})),
}


def test_good_features_keep_it() -> None:
    check_features(Good(), FRAME, NOTHING)


@pytest.mark.parametrize("told", BREACHES)
def test_features_that_break_it_are_told_how(told: str) -> None:
    with pytest.raises((ContractError, ValueError, TypeError)) as raised:
        check_features(changed(transform=BREACHES[told]), FRAME.copy(), NOTHING)
    assert told in str(raised.value)


def test_columns_must_not_depend_on_the_rows() -> None:
    def transform(self: Good, X: Any) -> Any:
        return pd.DataFrame({f"each_{len(self.usual_)}": Good._each(self, X)})

    with pytest.raises(ContractError, match="depend on the rows that `fit`"):
        check_features(changed(transform=transform), FRAME.iloc[:6], NOTHING)


def of_classes(fitted: Any, features: Any) -> Any:
    """Outputs as the search takes them."""
    return sound_outputs(CLASSES, Strategy(), fitted, features)


def test_estimators_of_scikit_learn_keep_it() -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    check_learner(LogisticRegression(), x, y, of_classes)


class Odd(ClassifierMixin, BaseEstimator):
    """Breaks the contract in the way that it is given."""

    def __init__(self, breach: str = "") -> None:
        self.breach = breach

    def fit(self, X: Any, y: Any) -> Odd:
        if self.breach != "classes_":
            self.classes_ = np.unique(y)
        self.shift_ = np.random.default_rng().normal() if self.breach == "second fit" else 0.0
        return self

    def predict_proba(self, X: Any) -> Any:
        first = 1 / (1 + np.exp(-X[:, 0] - self.shift_))
        if self.breach == "alone":
            first = 1 / (1 + np.exp(-X[:, 0] + X[:, 0].mean()))
        return np.column_stack([first, 1 - first])


@pytest.mark.parametrize("breach", ["alone", "second fit", "classes_"])
def test_learners_that_break_it_are_told_how(breach: str) -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    check_learner(Odd(), x, np.arange(60) % 2, of_classes)
    with pytest.raises(ContractError, match=breach):
        check_learner(Odd(breach), x, np.arange(60) % 2, of_classes)
