"""k-nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import DefaultConfig, Learner, Measured, Settings, TrainingSetup
from palmette.automl.learners.ranges import Range, whole

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
        given = {"n_neighbors": count, "weights": "distance", "n_jobs": setup.threads}
        return Call(setup.path("sklearn.neighbors.KNeighbors"), given)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        return (DefaultConfig(self.name, {"n_neighbors": USUAL}, self.reason, self.rank),)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"n_neighbors": whole(1, 100, USUAL, log=True)}
