"""TabPFN as a candidate; a stand-in with the arguments of its classes replaces the package and its weights."""

import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from palmette.automl.calls import build
from palmette.automl.composition import learner_named
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import FoldData, TrainingSetup


class TabPFNClassifier(KNeighborsClassifier):
    """Predicts by the nearest rows; takes what TabPFN 2 takes."""

    def __init__(
        self, n_estimators: int = 8, device: str = "auto", ignore_pretraining_limits: bool = False,
        categorical_features_indices: Any = None, random_state: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_estimators, self.device, self.random_state = n_estimators, device, random_state
        self.ignore_pretraining_limits = ignore_pretraining_limits
        self.categorical_features_indices = categorical_features_indices


def test_it_is_fitted_with_the_places_of_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("tabpfn")
    module.TabPFNClassifier = TabPFNClassifier
    monkeypatch.setitem(sys.modules, "tabpfn", module)
    rows = np.random.default_rng(0).normal(size=(60, 3))
    target = (rows[:, 0] > 0).astype(int)
    facts = DataFacts(60, 3, "classification", 1, 2, "roc_auc", 5)
    learner = learner_named("tabpfn")
    model = build(learner.estimator({}, TrainingSetup(facts, categorical=(False, False, True))))
    assert model.categorical_features_indices == [2] and model.device == "auto"
    learner.fit(model, FoldData(rows, target, rows, target), time.monotonic() + 10)
    assert (model.predict(rows) == target).mean() > 0.8


def test_without_weights_it_is_no_candidate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TABPFN_MODEL_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("palmette.automl.learners.learner.missing_requirement", lambda _: "")
    assert "TABPFN_MODEL_CACHE_DIR" in learner_named("tabpfn").unavailable()
    (tmp_path / "tabpfn-v2-classifier.ckpt").write_bytes(b"weights")
    assert learner_named("tabpfn").unavailable() == ""
