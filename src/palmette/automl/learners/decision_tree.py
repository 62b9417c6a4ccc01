"""A single decision tree that a person can read."""

from __future__ import annotations

from collections.abc import Mapping

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import Learner, Measured, Settings, TrainingSetup
from palmette.automl.learners.ranges import Range, whole


class DecisionTree(Learner):
    name = "decision_tree"
    families = frozenset({"tree", "cart", "decision_trees"})
    readable = True
    description = "One small tree: a few questions about the columns lead to each prediction."
    measured = Measured(0.01, 3e-7, kilobytes=20.0, milliseconds=0.3)
    rank = 31
    reason = "one small tree, which a person can read"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        usual = {"max_depth": 6, "min_samples_leaf": max(1, min(20, setup.facts.rows // 50))}
        return Call(setup.path("sklearn.tree.DecisionTree"), {**usual, **settings, "random_state": setup.seed})

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "max_depth": whole(2, 12, 6, "questions before a prediction"),
            "min_samples_leaf": whole(1, 100, 20, "rows of a leaf at least", log=True),
        }
