"""Tracks beside the traditional one: what they need, and that they train and predict where it is there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_projects import Project, blueprint_of, guests, training

from palmette.automl.modalities.tabular import Folds, Track, available, tracks, write_project
from palmette.automl.selection import select
from palmette.sandbox import Sandbox

STAND_IN = """
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

class Known:
    def __init__(self, n_estimators, device, ignore_pretraining_limits, random_state, categorical_features_indices):
        super().__init__(random_state=random_state)
        self.device, self.ignore_pretraining_limits = device, ignore_pretraining_limits
        self.categorical_features_indices = categorical_features_indices

class TabPFNClassifier(Known, ExtraTreesClassifier): pass
class TabPFNRegressor(Known, ExtraTreesRegressor): pass
"""
"""With the arguments that the package's own classes are given here."""


def test_a_track_that_cannot_be_had_says_what_would_help(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert available("traditional") == ""
    monkeypatch.setattr(tracks, "installed", lambda algorithms: ())
    assert "pip install torch" in available("neural")
    assert "pip install autogluon.tabular" in available("autogluon")
    monkeypatch.setattr(tracks, "installed", tuple)
    monkeypatch.setenv("TABPFN_MODEL_CACHE_DIR", str(tmp_path))
    assert str(tmp_path) in available("pretrained")
    (tmp_path / "some.ckpt").touch()
    assert available("pretrained") == ""


@pytest.mark.parametrize(("track", "algorithms", "due"), [
    ("traditional", ("lightgbm",), True), ("traditional", ("linear",), False), ("autogluon", ("autogluon",), True),
])  # fmt: skip
def test_an_image_has_what_trees_link_to(track: Track, algorithms: tuple[str, ...], due: bool) -> None:
    files = write_project(blueprint_of("binary", algorithms=algorithms), (track,))
    (image,) = [file.text for file in files if file.path == "Dockerfile"]
    assert ("libgomp1" in image) == due


@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("track", ["neural", "pretrained", "autogluon"])
def test_a_track_trains_and_predicts(track: Track, task: str, tmp_path: Path, sandbox: Sandbox) -> None:
    if track == "pretrained":
        (tmp_path / "tabpfn.py").write_text(STAND_IN, encoding="utf-8")
    elif available(track):
        pytest.skip(available(track))
    data = guests(task, rows=160)
    blueprint = blueprint_of(task, folds=Folds(count=2), trials=0, rows=160)
    for file in write_project(blueprint, (track,)):
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).write_text(file.text, encoding="utf-8")
    data.to_csv(tmp_path / "train.csv", index=False)
    pd.DataFrame({"row": range(160), "fold": np.arange(160) % 2}).to_csv(tmp_path / "folds.csv", index=False)
    project = Project(tmp_path, blueprint, data, sandbox)
    project.run_all((*training("model", "--track", track), "--seconds", "10"))
    found = project.found("model")
    own = [one for one in found.candidates if one.trial.algorithm in tracks.TRACKS[track].algorithms]
    assert own and not found.violations, found.trials
    assert {trial.track for trial in found.trials} == {track}
    chosen = select(own, project.judge)
    dummy = next(one for one in found.candidates if one.name == "dummy")
    assert project.judge.worth(chosen.outputs(found.candidates)) > project.judge.worth(dummy.outputs)
    members = {"members": [json.loads(member.model_dump_json()) for member in chosen.members]}
    (tmp_path / "model" / "members.json").write_text(json.dumps(members), encoding="utf-8")
    project.run_all(("predict.py", "--input", "train.csv", "--output", "said.csv"))
    assert len(pd.read_csv(tmp_path / "said.csv")) == 160
