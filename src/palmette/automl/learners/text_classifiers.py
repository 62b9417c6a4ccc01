"""Linear classifiers of words: many sparse columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from palmette.automl.calls import Call, pipeline
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import DefaultConfig, Learner, Measured, Settings, TrainingSetup
from palmette.automl.learners.linear import logistic
from palmette.automl.learners.ranges import Range

BESIDE_OTHERS = 6.0
"""Added to the rank if the table has other columns than texts."""


class _TextClassifier(Learner):
    problems = frozenset({"classification"})
    layout = "sparse"
    kinds = frozenset({"text"})
    readable = True
    measured = Measured(0.05, 3e-5, kilobytes=5000.0, milliseconds=2.0, by_output=True)
    setting: ClassVar[tuple[str, Range]] = ("C", Range(1e-2, 1e2, 1.0, "inverse strength of the L2 penalty", log=True))

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        rank = self.rank if facts.is_text_alone else BESIDE_OTHERS + self.rank
        return (DefaultConfig(self.name, {}, self.description, rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return dict([self.setting])


class RidgeClassifier(_TextClassifier):
    name = "ridge_classifier"
    families = frozenset({"linear_model"})
    description = "Ridge regression on the classes of texts, with calibrated probabilities: quick and strong."
    rank = 1.2
    setting = ("alpha", Range(0.1, 10.0, 1.0, "strength of the L2 penalty", log=True))

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given = {"alpha": 1.0, **settings, "solver": "lsqr", "tol": 0.01}
        return calibrated(Call("sklearn.linear_model.RidgeClassifier", given), setup)


class LinearSVC(_TextClassifier):
    name = "linear_svc"
    families = frozenset({"svm", "svc", "support_vector_machine", "linear_model"})
    description = "A linear support vector machine with calibrated probabilities, for texts."
    rank = 2.6

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given = {"C": 0.5, **settings, "tol": 0.1, "random_state": setup.seed}
        return calibrated(Call("sklearn.svm.LinearSVC", given), setup)


class NaiveBayesSVM(_TextClassifier):
    name = "nb_svm"
    families = frozenset({"naive_bayes", "nbsvm", "linear_model"})
    description = "Words weighted by how much more frequent they are in a class, then logistic regression."
    rank = 0.8

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        ratio = Call("palmette.automl.learners.log_count_ratio.LogCountRatio")
        model = logistic({"C": 3.0, **settings}, setup)
        return Call(
            "sklearn.multiclass.OneVsRestClassifier", {"estimator": pipeline(("ratio", ratio), ("model", model))}
        )


def calibrated(classifier: Call, setup: TrainingSetup) -> Call:
    folds = Call("sklearn.model_selection.KFold", {"n_splits": 3, "shuffle": True, "random_state": setup.seed})
    given = {"estimator": classifier, "ensemble": False, "cv": folds}
    return Call("sklearn.calibration.CalibratedClassifierCV", given)
