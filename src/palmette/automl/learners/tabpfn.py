"""The learner of the track `pretrained`: TabPFN, trained on synthetic tables, reads the training rows as context."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from palmette.automl.calls import Call
from palmette.automl.learners.learner import Learner, Measured, Settings, TrainingSetup


class TabPFN(Learner):
    name = "tabpfn"
    track = "pretrained"
    families = frozenset({"neural_network", "foundation_model"})
    requires = ("tabpfn",)
    most_rows = 10_000
    description = "A pretrained network that reads all training rows for each prediction: strong where they are few."
    measured = Measured(2.0, 1e-4, kilobytes=30_000.0, milliseconds=500.0)
    rank = 15
    reason = "strong where rows are few, without any tuning"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given: dict[str, Any] = {"n_estimators": 4, **settings, "device": "cpu", "ignore_pretraining_limits": True}
        if columns := setup.places:
            given["categorical_features_indices"] = columns
        return Call(setup.path("tabpfn.TabPFN"), {**given, "random_state": setup.seed})

    def unavailable(self) -> str:
        usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or usual) / "tabpfn"
        folder = Path(os.environ.get("TABPFN_MODEL_CACHE_DIR") or cache)
        if any(folder.glob("*.ckpt")):
            return ""
        return (
            f"tabpfn needs its weights, and {folder} has none: download them as its documentation describes, "
            "or name their folder in TABPFN_MODEL_CACHE_DIR."
        )
