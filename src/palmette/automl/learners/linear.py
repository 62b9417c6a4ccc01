"""Linear models of any features, linear classifiers of words, and support vector machines."""

from collections.abc import Mapping
from typing import ClassVar

from palmette.automl.calls import Call, pipeline
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.learners.learner import Learner, Measured, Range, Settings, TrainingSetup

CURVES = 3_000_000  # work above which splines of numbers take too long
OF_CLASSES = "inverse strength of the L2 penalty"
OF_NUMBERS = "strength of the L2 penalty; by leave-one-out if absent"


class Linear(Learner):
    name = "linear"
    layout = "sparse"
    families = frozenset({"linear_model", "logistic_regression", "linear_regression", "ridge"})
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
        plain = DefaultConfig("linear", {}, "a weighted sum of all columns", 2.2 if facts.is_alone("text") else 30)
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


def _strength(facts: DataFacts) -> float:
    """Returns the default `C`: words alone need a weak penalty."""
    return 10.0 if facts.is_alone("text") else 1.0


def logistic(settings: Settings, setup: TrainingSetup) -> Call:
    """Returns a logistic regression for two classes by coordinate descent: fast on many sparse columns."""
    fixed = {"solver": "liblinear", "dual": True, "tol": 0.1, "random_state": setup.seed}
    return Call("sklearn.linear_model.LogisticRegression", {**settings, **fixed})


class _TextClassifier(Learner):
    problems = frozenset({"classification"})
    layout = "sparse"
    kinds = frozenset({"text"})
    measured = Measured(0.05, 3e-5, kilobytes=5000.0, milliseconds=2.0, by_output=True)
    setting: ClassVar[tuple[str, Range]] = ("C", Range(1e-2, 1e2, 1.0, "inverse strength of the L2 penalty", log=True))

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        return (DefaultConfig(self.name, {}, self.description, self.rank + facts.later("text")),)

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
        ratio = Call("palmette.automl.learners.wrappers.LogCountRatio")
        model = pipeline(("ratio", ratio), ("model", logistic({"C": 3.0, **settings}, setup)))
        return Call("sklearn.multiclass.OneVsRestClassifier", {"estimator": model})


def calibrated(classifier: Call, setup: TrainingSetup) -> Call:
    folds = Call("sklearn.model_selection.KFold", {"n_splits": 3, "shuffle": True, "random_state": setup.seed})
    given = {"estimator": classifier, "ensemble": False, "cv": folds}
    return Call("sklearn.calibration.CalibratedClassifierCV", given)


TEXTS = 20.0  # rank for texts by their main directions; pretrained embeddings rank earlier


class SVC(Learner):
    name = "svc"
    layout = "dense"
    kinds = frozenset({"image", "audio", "text"})
    families = frozenset({"svm", "support_vector_machine"})
    most_rows = 10_000
    description = "A support vector machine with a Gaussian kernel: similar rows, of many features at once."
    measured = Measured(0.05, 1e-6, pair=3e-7, kilobytes=500.0, row=10.0, milliseconds=3.0)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        if setup.facts.classes:
            return calibrated(Call("sklearn.svm.SVC", {"C": 10.0, **settings}), setup)
        model = Call("sklearn.svm.SVR", {"C": 10.0, "epsilon": 0.05, **settings})
        given = {"regressor": model, "transformer": Call("sklearn.preprocessing.StandardScaler")}
        return Call("sklearn.compose.TransformedTargetRegressor", given)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        rank = TEXTS if {"image", "audio"}.isdisjoint(facts.kinds) else 0.3
        return (DefaultConfig(self.name, {}, "rows that are alike in many features", rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"C": Range(0.1, 1000.0, 10.0, "inverse strength of the penalty", log=True)}
