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
from palmette.automl.requirements import Constraint, ProblemPart, Requirements
from palmette.automl.selection import Candidate, Judge, Trial
from palmette.automl.store import Store
from palmette.engine import Context
from palmette.sandbox import Sandbox

CLASSES = ("bad", "good")
RIGHT = np.arange(200) % 2
FOLDER = "tracks/traditional"


def candidate(name: str, algorithm: str, share: float) -> Candidate:
    """One that is right in this share of the rows, each time in others."""
    right = np.random.default_rng(len(name)).random(len(RIGHT)) < share
    said = np.where(right, RIGHT, 1 - RIGHT)
    trial = Trial(name=name, algorithm=algorithm, settings={}, status="finished", seconds=1.0)
    return Candidate(trial, np.column_stack([1 - said, said]) * 0.8 + 0.1)


def choose(
    found: list[Candidate],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: int = 1,
    limit: Constraint | None = None,
) -> Comparison:
    """What is chosen, that many times one after the other; of `knn`, a fitted model has 30 kB."""
    store, judge = Store(folder), Judge(METRICS["accuracy"], np.array(CLASSES)[RIGHT], classes=CLASSES)
    track = store.folder("project") / FOLDER
    for one in found:
        (track / "fold_models" / one.name).mkdir(parents=True)
        (track / "fold_models" / one.name / "0.joblib").write_bytes(b"fitted" * (5000 if one.name == "knn" else 1))
    of = {"dummy": "baseline", "linear": "baseline"}
    known = [comparing._Known(of.get(one.name, "traditional"), track, one) for one in found]
    monkeypatch.setattr(Comparator, "_known", lambda *_: (known, judge))
    run = TrackRun(track="traditional", folder=FOLDER, seconds=1.0, candidates=len(found))
    made = Assembly(files=(), store="project", tracks=(run,))
    wanted = Requirements(text="", problem=ProblemPart(constraints=(limit,))) if limit else None
    asked = ComparatorInput.model_construct(blueprint=blueprint_of("binary"), assembly=made, requirements=wanted)
    for _ in range(times):
        attempt = Comparator(store, Sandbox()).run(asked, Context("comparator", folder))
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


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        ("model size <= 100000", {"linear", "knn"}),
        ("model size <= 20000", {"linear"}),
        ("model size > 20000", {"linear", "knn"}),
        ("parameters < 600", {"linear", "knn"}),
        ("parameters < 100", {"linear"}),
        ("parameters < 2", {"linear", "knn"}),
    ],
)
def test_what_is_delivered_keeps_a_limit_where_something_does(
    limit: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "parameters_of", lambda *_: {"linear": 5, "knn": 500})
    quantity, sign, value = limit.rsplit(" ", 2)
    wanted = Constraint.model_validate({"quantity": quantity, "comparison": sign, "value": float(value), "words": ""})
    found = [candidate("linear", "linear", 0.7), candidate("knn", "knn", 0.9)]
    chosen = {one.name for one in choose(found, tmp_path, monkeypatch, limit=wanted).selection.members}
    assert ("knn" in chosen) == ("knn" in names) and chosen <= names
