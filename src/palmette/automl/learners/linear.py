"""Linear and logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import DefaultConfig, FoldData, Learner, Measured, Settings, TrainingSetup
from palmette.automl.learners.ranges import Range

CURVES = 3_000_000
"""Work above which splines of numbers take too long."""
OF_CLASSES = "inverse strength of the L2 penalty"
OF_NUMBERS = "strength of the L2 penalty; by leave-one-out if absent"


class Linear(Learner):
    name = "linear"
    layout = "sparse"
    families = frozenset({"linear_model", "logistic_regression", "linear_regression", "ridge"})
    readable = True
    description = "Logistic or ridge regression: a weighted sum of all columns."
    measured = Measured(0.017, 5.2e-7, kilobytes=4.6, milliseconds=0.5)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        facts = setup.facts
        if facts.classes and facts.words:
            call = logistic({"C": _strength(facts), **settings}, setup)
            return call if facts.classes == 2 else Call("sklearn.multiclass.OneVsRestClassifier", {"estimator": call})
        if facts.classes:
            return Call("sklearn.linear_model.LogisticRegression", {"C": 1.0, "max_iter": 300, "tol": 1e-3, **settings})
        if "alpha" in settings or facts.words:
            solver = {"solver": "lsqr"} if facts.words else {}
            return Call("sklearn.linear_model.Ridge", {"alpha": 1.0, **solver, **settings})
        return Call("sklearn.linear_model.RidgeCV", {"alphas": Call("numpy.logspace", {}, (-2, 4, 13))})

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        plain = DefaultConfig("linear", {}, "a weighted sum of all columns", 2.2 if facts.is_text_alone else 30)
        reason = "a curve for each number, all added up"
        curves = DefaultConfig("linear-curves", {}, reason, 4, encoders={"number": "number_splines"})
        return (plain,) if facts.work > CURVES or "number" not in facts.kinds else (curves, plain)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        if facts.classes:
            return {"C": Range(1e-3, 1e2, _strength(facts), OF_CLASSES, log=True)}
        return {"alpha": Range(1e-2, 1e4, None, OF_NUMBERS, log=True)}

    def settings(self) -> Mapping[str, str]:
        classes, numbers = Range(1e-3, 1e2, 1.0, OF_CLASSES), Range(1e-2, 1e4, None, OF_NUMBERS)
        return {"C": f"classification: {classes}", "alpha": f"regression: {numbers}"}

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # good enough without full convergence
            return super().fit(estimator, fold, deadline)


def _strength(facts: DataFacts) -> float:
    """Returns the default `C`: words alone need a weak penalty."""
    return 10.0 if facts.is_text_alone else 1.0


def logistic(settings: Settings, setup: TrainingSetup) -> Call:
    """Returns a logistic regression for two classes by coordinate descent: fast on many sparse columns."""
    fixed = {"solver": "liblinear", "dual": True, "tol": 0.1, "random_state": setup.seed}
    return Call("sklearn.linear_model.LogisticRegression", {**settings, **fixed})
