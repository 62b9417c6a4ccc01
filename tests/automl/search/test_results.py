"""What the driver left is verified before it counts."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_blueprints import LIGHTGBM, blueprint, guests, splits

from palmette.automl.candidates import Candidate, Trial
from palmette.automl.problems.problem import problem_of
from palmette.automl.search.job import sampled_rows
from palmette.automl.search.results import (
    CandidateLoad,
    CandidateResult,
    comparable,
    fit_seconds,
    read_results,
    write_results,
)

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.6, 0.4]])
PROBLEM = problem_of(blueprint())


def trial(name: str = "lightgbm", status: str = "finished", **changes: Any) -> dict[str, Any]:
    candidate = LIGHTGBM.model_copy(update={"name": name, **changes})
    return Trial.model_validate({"candidate": candidate, "status": status, "seconds": 1.0}).model_dump(mode="json")


def written(folder: Path, outputs: Any = GOOD, trials: Any = None) -> Path:
    (folder / "outputs").mkdir()
    np.save(folder / "outputs" / "lightgbm.npy", outputs)
    log = {"trials": trials if trials is not None else [trial()], "processor_seconds": 3.5}
    (folder / "trials.json").write_text(json.dumps(log), encoding="utf-8")
    return folder


def read(folder: Path, **options: Any) -> CandidateLoad:
    return read_results(folder, PROBLEM, 4, **options)


def test_outputs_are_read_and_can_be_written_again(tmp_path: Path) -> None:
    load = read(written(tmp_path))
    assert not load.violations and load.processor_seconds == 3.5
    assert load.results[0].outputs.tolist() == GOOD.tolist()
    write_results(tmp_path / "again", load)
    again = read(tmp_path / "again")
    assert again.trials == load.trials and np.array_equal(again.results[0].outputs, GOOD)


@pytest.mark.parametrize(
    ("outputs", "code"),
    [
        (GOOD[:3], "outputs-rows"),
        (GOOD.astype("float32"), "outputs-rows"),
        (np.array(0.5), "outputs-rows"),
        (GOOD[:, :1], "outputs-values"),
        (GOOD[:, 0], "outputs-values"),
        (GOOD * 2, "outputs-values"),
        (GOOD - 0.15, "outputs-values"),
        (np.where(GOOD == 0.9, np.nan, GOOD), "outputs-values"),
        (np.zeros((4000, 2)), "outputs-unreadable"),
        (np.array([{"a": 1}] * 4, dtype=object), "outputs-unreadable"),
    ],
)
def test_outputs_that_do_not_hold_are_left_out(tmp_path: Path, outputs: Any, code: str) -> None:
    load = read(written(tmp_path, outputs))
    assert [one.code for one in load.violations] == [code]
    assert not load.results and len(load.trials) == 1


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"x" * 500, pickle.dumps(GOOD)])
def test_files_of_any_content_are_left_out(tmp_path: Path, content: bytes) -> None:
    (written(tmp_path) / "outputs" / "lightgbm.npy").write_bytes(content)
    load = read(tmp_path)
    assert [one.code for one in load.violations] == ["outputs-unreadable"] and not load.results


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (written(tmp_path / "a" if (tmp_path / "a").mkdir() is None else tmp_path) / "outputs" / "lightgbm.npy").unlink()
    np.save(tmp_path / "elsewhere.npy", GOOD)
    (tmp_path / "a" / "outputs" / "lightgbm.npy").symlink_to(tmp_path / "elsewhere.npy")
    assert [one.code for one in read(tmp_path / "a").violations] == ["outputs-unreadable"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"trials": []}', "no-candidate"),
        ("{", "trials-unreadable"),
        ("[]", "trials-unreadable"),
        (json.dumps({"trials": [trial(status="failed") | {"note": "no memory"}]}), "no-candidate"),
        (
            json.dumps({"trials": [trial() | {"candidate": {"name": "../a", "learner": "lightgbm"}}]}),
            "trials-unreadable",
        ),
        (json.dumps({"trials": [trial("absent")]}), "outputs-unreadable"),
        (json.dumps({"trials": [trial(f"a{n}", "failed") for n in range(1001)]}), "trials-unreadable"),
        ('{"trials": [' + " " * 5_000_000 + "]}", "trials-unreadable"),
    ],
)
def test_trials_that_do_not_hold_are_violations(tmp_path: Path, text: str, code: str) -> None:
    (written(tmp_path) / "trials.json").write_text(text, encoding="utf-8")
    assert [one.code for one in read(tmp_path).violations] == [code]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"name": "lightgbm-tuned-1", "settings": {"num_leaves": 7}}, True),
        ({"name": "lightgbm-tuned-1", "learner": "mlp"}, False),
        ({"features": "own_features.Added"}, False),
    ],
)
def test_a_trial_is_of_a_candidate_of_the_job_or_of_its_settings(
    tmp_path: Path, changes: dict[str, Any], expected: bool
) -> None:
    one = trial(**changes)
    written(tmp_path, trials=[one])
    if (name := one["candidate"]["name"]) != "lightgbm":
        np.save(tmp_path / "outputs" / f"{name}.npy", GOOD)
    load = read(tmp_path, expected=[LIGHTGBM, Candidate(name="linear", learner="linear")])
    assert bool(load.results) is expected
    assert bool(load.violations) is not expected


def test_outputs_of_a_part_of_the_rows_are_sound_only_when_they_are_put_together(tmp_path: Path) -> None:
    written(tmp_path, GOOD * 0.5)
    assert not read(tmp_path).results and read(tmp_path, whole=False).results


def test_only_the_folds_that_are_reported_as_missing_may_lack_outputs(tmp_path: Path) -> None:
    folds, outputs = np.array([0, 0, 1, 1]), np.where(np.array([[True], [True], [False], [False]]), GOOD, np.nan)
    folder = written(tmp_path, outputs, [{**trial(), "missing": [1]}])
    (found,) = read(folder, folds=folds).results
    assert found.predicted.tolist() == [True, True, False, False]
    assert read(folder).results, "as the harness has stored it"
    assert not read(folder, folds=folds[::-1].copy()).results and not read(folder, whole=False).results


def test_candidates_are_compared_on_the_rows_that_all_of_them_predicted() -> None:
    part = np.where(np.arange(4)[:, None] < 2, GOOD, np.nan)
    results = [
        CandidateResult(Trial.model_validate({**trial(name), "missing": missing}), outputs)
        for name, missing, outputs in (("dummy", (), GOOD), ("lightgbm", (1,), part), ("linear", (), GOOD))
    ]
    rows = splits(guests(4))
    kept, some = comparable(results, rows)
    assert [len(one.outputs) for one in kept] == [2, 2, 2] and len(some.train) == 2
    assert comparable([results[0], results[2]], rows)[1] is rows


def test_a_sample_of_rows_has_outputs_and_no_other_row(tmp_path: Path) -> None:
    kept, folds = sampled_rows(4, 2, PROBLEM.blueprint.seed), np.array([0, 0, 1, 1])
    outputs = np.full_like(GOOD, np.nan)
    outputs[kept] = GOOD[kept]
    folder = written(tmp_path, outputs)
    assert not read(folder, folds=folds).results
    log = json.loads((folder / "trials.json").read_text("utf-8"))
    (folder / "trials.json").write_text(json.dumps({**log, "rows": 2}), encoding="utf-8")
    load = read(folder, folds=folds)
    assert np.flatnonzero(load.results[0].predicted).tolist() == kept.tolist() and load.rows == 2
    np.save(folder / "outputs" / "lightgbm.npy", GOOD)
    assert not read(folder, folds=folds).results, "of rows that were not sampled"


def test_features_that_members_share_are_computed_once_in_the_final_fit() -> None:
    some = [{**trial(name, **fields), "learning": 1.0, "encoding": 5.0} for name, fields in (
        ("lightgbm", {}), ("deep", {"settings": {"num_leaves": 60}}), ("linear", {"learner": "linear"})
    )]  # fmt: skip
    trials = [Trial.model_validate(one) for one in some]
    assert [fit_seconds(trials[:count], PROBLEM.blueprint) for count in (1, 2, 3)] == [6.0, 7.0, 13.0]
    stacked = PROBLEM.blueprint.model_copy(update={"ensembling": "stacking"})
    assert fit_seconds(trials[:2], stacked) == 12.0 * (stacked.folds.count + 1)
