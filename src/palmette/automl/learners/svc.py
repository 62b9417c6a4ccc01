"""Support vector machines with a Gaussian kernel."""

from __future__ import annotations

from collections.abc import Mapping

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import DefaultConfig, Learner, Measured, Settings, TrainingSetup
from palmette.automl.learners.ranges import Range
from palmette.automl.learners.text_classifiers import calibrated

TEXTS = 20.0
"""Rank for texts by their main directions; pretrained embeddings rank earlier."""


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
        return Call(
            "sklearn.compose.TransformedTargetRegressor",
            {"regressor": model, "transformer": Call("sklearn.preprocessing.StandardScaler")},
        )

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        rank = TEXTS if {"image", "audio"}.isdisjoint(facts.kinds) else 0.3
        return (DefaultConfig(self.name, {}, "rows that are alike in many features", rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"C": Range(0.1, 1000.0, 10.0, "inverse strength of the penalty", log=True)}
