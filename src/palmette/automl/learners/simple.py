"""The dummy, a single tree, nearest neighbours, and forests."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.learners.learner import (
    ABSOLUTE,
    SUPERVISED,
    FoldData,
    Learner,
    Measured,
    Range,
    Settings,
    TrainingSetup,
)


class Dummy(Learner):
    name = "dummy"
    problems = SUPERVISED | {"clustering"}
    layout = "dense"
    description = "The shares of the classes, the mean or the median of the target, whatever the row."
    measured = Measured(0.001, 0.0, kilobytes=1.0, milliseconds=0.1)
    rank = -1.0
    reason = "what every model has to beat"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        facts = setup.facts
        if facts.clusters:
            given = {"n_clusters": settings.get("n_clusters", max(facts.clusters)), "random_state": setup.seed}
            return Call("palmette.automl.learners.clustering.clusters.RandomClusters", given)
        if facts.classes:
            return Call("sklearn.dummy.DummyClassifier", {"strategy": "prior"})
        return Call("sklearn.dummy.DummyRegressor", {"strategy": "median" if facts.metric in ABSOLUTE else "mean"})


class DecisionTree(Learner):
    name = "decision_tree"
    families = frozenset({"tree", "cart", "decision_trees"})
    description = "One small tree: a few questions about the columns lead to each prediction."
    measured = Measured(0.01, 3e-7, kilobytes=20.0, milliseconds=0.3)
    rank = 31
    reason = "one small tree, which a person can read"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual = {"max_depth": 6, "min_samples_leaf": max(1, min(20, setup.facts.rows // 50))}
        return Call(setup.path("sklearn.tree.DecisionTree"), {**usual, **settings, "random_state": setup.seed})

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "max_depth": Range.whole(2, 12, 6, "questions before a prediction"),
            "min_samples_leaf": Range.whole(1, 100, 20, "rows of a leaf at least", log=True),
        }


USUAL = 15


class Neighbours(Learner):
    name = "knn"
    layout = "dense"
    families = frozenset({"nearest_neighbors", "nearest_neighbours", "k_nearest_neighbors"})
    most_rows = 20_000
    description = "The mean of the nearest training rows, near ones counting more."
    measured = Measured(0.02, 6.5e-7, kilobytes=23.0, row=0.22, milliseconds=2.0)
    rank = 10
    reason = "near rows say much where rows are few"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        few = max(1, setup.facts.rows // 2)  # a fold may train on fewer rows
        count = min(int(settings.get("n_neighbors") or USUAL), few)
        given = {"n_neighbors": count, "weights": "distance", "n_jobs": 1}
        return Call(setup.path("sklearn.neighbors.KNeighbors"), given)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        return (DefaultConfig(self.name, {"n_neighbors": USUAL}, self.reason, self.rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"n_neighbors": Range.whole(1, 100, USUAL, log=True)}


TREES = 100
LEAVES = 5_000  # most leaves of a tree: more make files of gigabytes for little gain


class _Forest(Learner):
    path: ClassVar[str]

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual: dict[str, Any] = {"n_estimators": rounds or TREES}
        usual |= {} if setup.facts.classes else {"max_features": 0.5}
        fixed = {"n_jobs": 1, "random_state": setup.seed}
        return Call(setup.path(self.path), {**usual, **settings, **fixed})

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        leaf: Settings = {"min_samples_leaf": max(1, facts.rows // LEAVES)}
        return (DefaultConfig(self.name, leaf, self.reason, self.rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        leaf = max(1, facts.rows // LEAVES)
        share = Range(0.2, 1.0, None, "share of the columns of each split")
        return {"min_samples_leaf": Range.whole(leaf, 10 * leaf, leaf, log=True), "max_features": share}

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        started, most, count, more = time.monotonic(), estimator.n_estimators, 0, 1.0
        estimator.set_params(warm_start=True)
        while count < most and more >= 1:
            count = min(most, count + min(max(count, 1), int(more)))
            estimator.set_params(n_estimators=count).fit(fold.train, fold.target, **fold.options)
            now = time.monotonic()
            more = (deadline - now) * count / (now - started)  # trees that there is time for
        return int(count)


class ExtraTrees(_Forest):
    name = "extra_trees"
    families = frozenset({"tree_ensemble", "forest", "extremely_randomized_trees"})
    description = "A forest with random thresholds: unlike boosted trees."
    measured = Measured(0.11, 2e-6, kilobytes=3700.0, row=2.5, milliseconds=6.0)
    rank = 5
    reason = "random splits: unlike the boosted trees"
    path = "sklearn.ensemble.ExtraTrees"


class RandomForest(_Forest):
    name = "random_forest"
    families = frozenset({"tree_ensemble", "forest"})
    description = "A forest of trees on resampled rows: sturdy, hardly needs tuning."
    measured = Measured(0.11, 6e-6, kilobytes=2300.0, row=0.8, milliseconds=6.0)
    rank = 8
    reason = "sturdy, hardly needs tuning"
    path = "sklearn.ensemble.RandomForest"
