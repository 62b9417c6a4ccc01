"""Forests: averages of independently grown trees."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import DefaultConfig, FoldData, Learner, Measured, Settings, TrainingSetup
from palmette.automl.learners.ranges import Range, whole

TREES, TREES_AT_ONCE = 100, 50
LEAVES = 5_000
"""Most leaves of a tree: more make files of gigabytes for little gain."""


class _Forest(Learner):
    path: ClassVar[str]

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual: dict[str, Any] = {"n_estimators": rounds or TREES}
        usual |= {} if setup.facts.classes else {"max_features": 0.5}
        fixed = {"n_jobs": setup.threads, "random_state": setup.seed}
        return Call(setup.path(self.path), {**usual, **settings, **fixed})

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        leaf: Settings = {"min_samples_leaf": max(1, facts.rows // LEAVES)}
        return (DefaultConfig(self.name, leaf, self.reason, self.rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        leaf = max(1, facts.rows // LEAVES)
        share = Range(0.2, 1.0, None, "share of the columns of each split")
        return {"min_samples_leaf": whole(leaf, 10 * leaf, leaf, log=True), "max_features": share}

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        most, estimator.n_estimators = estimator.n_estimators, 0
        estimator.set_params(warm_start=True)
        while estimator.n_estimators < most:
            estimator.n_estimators = min(most, estimator.n_estimators + TREES_AT_ONCE)
            estimator.fit(fold.train, fold.target, **fold.options)
            if time.monotonic() > deadline:
                break
        return int(estimator.n_estimators)


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
