"""The dummy, which every model has to beat."""

from __future__ import annotations

from palmette.automl.calls import Call
from palmette.automl.learners.learner import ABSOLUTE, SUPERVISED, Learner, Measured, Settings, TrainingSetup


class Dummy(Learner):
    name = "dummy"
    problems = SUPERVISED | {"clustering"}
    layout = "dense"
    readable = True
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
