"""What is delivered of all that was trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_projects import blueprint_of

from palmette.automl.actors.comparator import actor as comparing
from palmette.automl.actors.comparator.actor import Comparator, ComparatorInput
from palmette.automl.artefacts import Assembly, Comparison, TrackRun
from palmette.automl.measure import METRICS
from palmette.automl.selection import Candidate, Judge, Trial
from palmette.automl.store import Store
from palmette.engine import Context

CLASSES = ("bad", "good")
RIGHT = np.arange(200) % 2
FOLDER = "tracks/traditional"


def candidate(name: str, algorithm: str, share: float) -> Candidate:
    """One that is right in this share of the rows, each time in others."""
    right = np.random.default_rng(len(name)).random(len(RIGHT)) < share
    said = np.where(right, RIGHT, 1 - RIGHT)
    trial = Trial(name=name, algorithm=algorithm, settings={}, status="finished", seconds=1.0)
    return Candidate(trial, np.column_stack([1 - said, said]) * 0.8 + 0.1)


def choose(found: list[Candidate], folder: Path, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> Comparison:
    """What is chosen, that many times one after the other."""
    store, judge = Store(folder), Judge(METRICS["accuracy"], np.array(CLASSES)[RIGHT], classes=CLASSES)
    track = store.folder("project") / FOLDER
    for one in found:
        (track / "fold_models" / one.name).mkdir(parents=True)
        (track / "fold_models" / one.name / "0.joblib").write_bytes(b"fitted")
    of = {"dummy": "baseline", "linear": "baseline"}
    known = [comparing._Known(of.get(one.name, "traditional"), track, one) for one in found]
    monkeypatch.setattr(Comparator, "_known", lambda *_: (known, judge))
    run = TrackRun(track="traditional", folder=FOLDER, seconds=1.0, candidates=len(found))
    made = Assembly(files=(), store="project", tracks=(run,))
    asked = ComparatorInput.model_construct(blueprint=blueprint_of("binary"), assembly=made, choice=None)
    for _ in range(times):
        attempt = Comparator(store).run(asked, Context("comparator", folder))
        assert attempt.output is not None
    assert isinstance(attempt.output, Comparison)
    return attempt.output


def test_what_was_chosen_can_be_chosen_again_whatever_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "SHOWN", 0)
    found = [candidate("dummy", "dummy", 0.5), candidate("linear", "linear", 0.7), candidate("knn", "knn", 0.9)]
    made = choose(found, tmp_path, monkeypatch, times=2)
    assert "knn" in {one.name for one in made.selection.members} and made.better
    assert {one.track for one in made.leaderboard} <= {"baseline", "ensemble"}
    assert (tmp_path / "project" / "model" / "fold_models" / "knn" / "0.joblib").is_file()


def test_a_baseline_that_is_delivered_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = choose([candidate("dummy", "dummy", 0.5), candidate("linear", "linear", 0.9)], tmp_path, monkeypatch)
    assert not made.better and made.reason.endswith("by 100% linear; that is a baseline, and nothing is better.")
