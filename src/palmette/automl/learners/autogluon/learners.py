"""The learner of the track `autogluon`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import FoldData, Learner, Measured, Range, Settings, TrainingSetup

MOST_SECONDS = 3600.0
RANKING = frozenset({"roc_auc", "average_precision"})
PRESETS = ("medium_quality", "good_quality", "high_quality", "best_quality")


class AutoGluon(Learner):
    """Runs AutoGluon once per fold and candidate, each time up to a time limit.

    Its `rounds` are the seconds that a fit took, so that the final fit takes as long.
    """

    name = "autogluon"
    track = "autogluon"
    families = frozenset({"automl"})
    requires = ("autogluon.tabular",)
    description = "A stack of many models, combined by AutoGluon."
    measured = Measured(10.0, 1e-4, kilobytes=50_000.0, milliseconds=50.0)
    rank = 16
    reason = "a stack of many models, combined by AutoGluon"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        facts = setup.facts
        if facts.classes:
            metric = "roc_auc" if facts.classes == 2 and facts.metric in RANKING else "log_loss"
        else:
            metric = "mean_absolute_error" if setup.is_absolute else "root_mean_squared_error"
        given: dict[str, Any] = {"metric": metric, "seconds": 60.0, **settings}
        if columns := setup.places:
            given["categorical"] = columns
        if rounds:
            given["seconds"] = float(rounds)
        path = setup.path("palmette.automl.learners.autogluon.autogluon_models.AutoGluon")
        return Call(path, {**given, "n_threads": setup.threads})

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"preset": Range.choice(*PRESETS, default=PRESETS[0], note="quality against time", searched=False)}

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        seconds = min(MOST_SECONDS, max(1.0, deadline - time.monotonic()))
        estimator.set_params(seconds=seconds)
        estimator.fit(fold.train, fold.target)
        return max(1, round(seconds))
