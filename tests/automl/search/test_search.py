"""The driver in the sandbox: what it leaves, when it ends, and what own code can see."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_blueprints import LIGHTGBM, LINEAR, blueprint, guests, splits

from palmette.automl.candidates import Blueprint, Candidate, OwnCode, substance
from palmette.automl.problems.problem import problem_of
from palmette.automl.search import driver, runs, schedule
from palmette.automl.search.job import run_module
from palmette.automl.search.results import CandidateLoad, read_results
from palmette.automl.search.runs import START_SECONDS, Search, own_code_seconds
from palmette.automl.search.selection import select
from palmette.automl.search.worker import FoldResult, FoldTask
from palmette.sandbox import Sandbox

CHEAT = '''
"""Looks for the targets wherever they may be."""
import gc
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

FOLDER = Path(__file__).parents[1]


class Cheat(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        fold = json.loads((FOLDER / "job.json").read_text())["only_fold"]
        inside = np.load(FOLDER / "folds.npy") == fold
        tables = [one for one in gc.get_objects() if isinstance(one, pd.DataFrame) and "mood" in one]
        tables.append(pd.read_parquet(FOLDER / "train.parquet"))
        self.found_ = [one["mood"].to_numpy()[inside] == "good" for one in tables if len(one) == len(inside)][-1]
        return self

    def predict_proba(self, X):
        good = self.found_[:len(X)].astype(float)
        return np.column_stack([1 - good, good])


class Broken(BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no idea")


class Sum(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.middle_ = np.median(X[:, 0])
        return self

    def predict_proba(self, X):
        good = 1 / (1 + np.exp(self.middle_ - X[:, 0]))
        return np.column_stack([1 - good, good])
'''
FEATURES = '''
"""The size, squared."""
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin


class Squared(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return pd.DataFrame({"squared": X["size"] ** 2}, index=X.index)
'''
OWN = (
    OwnCode(path="own_traditional.py", text=CHEAT, classes=("Cheat", "Broken", "Sum")),
    OwnCode(path="own_features.py", text=FEATURES, classes=("Squared",)),
)


def search(
    folder: Path,
    sandbox: Sandbox,
    drawn: Blueprint,
    seconds: float,
    candidates: Sequence[Candidate] | None = None,
    modules: Sequence[OwnCode] = (),
    table: pd.DataFrame | None = None,
) -> CandidateLoad:
    rows = splits(guests() if table is None else table)
    return Search(folder, drawn, rows, sandbox).run(seconds, candidates, modules)


def status(run: CandidateLoad) -> dict[str, str]:
    return {one.candidate.name: f"{one.status} {one.note}".strip() for one in run.trials}


def search_here(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Runs the driver in this process, by a clock on which every fit takes a second, whatever the machine."""
    clock, record = SimpleNamespace(now=0.0), schedule.Schedule.record

    def run(_: Sandbox, __: str, folder: Path, ___: float) -> SimpleNamespace:
        driver.main(folder)
        return SimpleNamespace(ok=True)

    def timed(self: schedule.Schedule, task: FoldTask, result: FoldResult) -> None:
        clock.now += 1.0
        record(self, task, result._replace(seconds=1.0, encoding=0.0, shared=0.0))

    monkeypatch.setattr(runs, "run_module", run)
    monkeypatch.setattr(driver, "time", SimpleNamespace(time=float, monotonic=lambda: clock.now))
    monkeypatch.setattr(schedule.Schedule, "record", timed)
    return clock


@pytest.mark.parametrize("target", ["room", "price", ""])
def test_candidates_are_trained_and_verified(tmp_path: Path, sandbox: Sandbox, target: str) -> None:
    drawn, shown = blueprint(target, tuning=False), list[str]()
    table = guests().assign(size=lambda rows: rows["size"] + 6 * (rows["size"] > 0))
    started = time.monotonic()
    run = Search(tmp_path, drawn, splits(table), sandbox, shown.append).run(40.0)
    assert time.monotonic() - started < 40 * 1.15
    assert not run.failures and run.processor_seconds > 0 and shown
    problem = problem_of(drawn)
    planned = {substance(one): one.name for one in drawn.candidates}  # a baseline that is planned is trained once
    names = {*planned.values(), *(one.name for one in problem.baselines() if substance(one) not in planned)}
    assert {one.name for one in run.results} == names, status(run)
    scorer = problem.scorer(splits(table))
    kept = [one for one in run.results if one.name != "dummy"]
    chosen = select(kept, scorer)
    for one in run.results:
        assert one.trial.score == pytest.approx(scorer.utility(one.outputs)), "the guide is the harness's own score"
    if target:
        dummy = run.result("dummy")
        assert dummy is not None and scorer.gain(kept[0].outputs, dummy.outputs).low > 0
    assert chosen.score > 0.25 if target != "price" else chosen.score < 0.3
    again = read_results(tmp_path, problem, len(table))
    assert {one.name for one in again.results} == {one.name for one in run.results}
    assert not list(tmp_path.glob("job*")), "rows and encoded features do not stay"


def test_time_that_is_left_goes_to_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = search_here(monkeypatch)
    run = search(tmp_path, Sandbox(), blueprint(), 30.0)
    tuned = [one for one in run.trials if "-tuned-" in one.candidate.name]
    assert tuned and all(one.candidate.learner == "lightgbm" for one in tuned), status(run)
    assert 15.0 < clock.now <= 30.0


def test_a_short_budget_leaves_a_model_and_the_dummy(tmp_path: Path, sandbox: Sandbox) -> None:
    run = search(tmp_path, sandbox, blueprint(), 0.5)
    assert {"dummy", "lightgbm"} <= {one.name for one in run.results}, status(run)


def test_sampled_rows_are_searched_where_no_fold_would_end_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_here(monkeypatch)
    monkeypatch.setattr(schedule, "LEAST_ROWS", 90)
    monkeypatch.setattr(schedule.Schedule, "_seconds_needed", lambda *_: 1e6)
    run = search(tmp_path, Sandbox(), blueprint(candidates=(LINEAR,), tuning=False), 20.0)
    found = run.result("linear")
    assert found is not None and run.rows == 90 == int(found.predicted.sum()), status(run)
    assert read_results(tmp_path, problem_of(blueprint()), len(guests())).rows == 90


def test_a_driver_that_looks_for_a_gpu_may_fork_workers_that_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    sandbox: Any = SimpleNamespace(run=lambda *_, env, **__: env)
    given: Any = run_module(sandbox, "any", tmp_path, 1.0)
    monkeypatch.setattr("os.environ", {**os.environ, **given})
    assert torch.cuda._nvml_based_avail()


def test_a_planned_baseline_is_trained_early_and_the_same_seed_gives_the_same_outputs(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    careful = LIGHTGBM.model_copy(update={"name": "lightgbm-careful", "settings": {"learning_rate": 0.02}})
    drawn = blueprint(candidates=(LIGHTGBM, careful, LINEAR), tuning=False)
    run = search(tmp_path / "all", sandbox, drawn, 20.0)
    assert {one.candidate.name for one in run.trials[:3]} == {"dummy", "lightgbm", "linear"}, status(run)
    alone = search(tmp_path / "alone", sandbox, drawn, 20.0, [LIGHTGBM])
    one, other = run.result("lightgbm"), alone.result("lightgbm")
    assert one is not None and other is not None and np.array_equal(one.outputs, other.outputs)


def test_own_code_never_sees_the_targets_of_the_rows_that_it_predicts(tmp_path: Path, sandbox: Sandbox) -> None:
    classes = ("Cheat", "Broken", "Sum")
    own = [Candidate(name=f"own_{name.lower()}", learner=f"own_traditional.{name}") for name in classes]
    own.append(LINEAR.model_copy(update={"name": "linear-own", "features": "own_features.Squared"}))
    own.append(LIGHTGBM.model_copy(update={"name": "lightgbm-own", "features": "own_features.Squared", "tuned": False}))
    drawn = blueprint(candidates=(LINEAR, *own), tuning=False)
    run = search(tmp_path, sandbox, drawn, 150.0, modules=OWN)
    found = status(run)
    assert found["own_broken"].startswith('failed RuntimeError: no idea File "own_traditional.py", line ')
    assert {name for name, one in found.items() if one == "finished"} >= {
        "linear",
        "own_cheat",
        "own_sum",
        "linear-own",
    }
    scores = {one.name: one.trial.score or 0.0 for one in run.results}
    assert scores["own_cheat"] < 0.65 < scores["own_sum"], "what it finds are the targets of other rows"
    assert scores["linear-own"] > 0.8 and scores["lightgbm-own"] > 0.75
    rounds = next(one.trial.rounds for one in run.results if one.name == "lightgbm-own")
    assert len(rounds) == 3 and all(rounds), "steps are found inside the training rows"


def test_own_code_is_left_out_where_the_budget_is_too_short_for_it(tmp_path: Path, sandbox: Sandbox) -> None:
    own = Candidate(name="own_sum", learner="own_traditional.Sum")
    run = search(tmp_path, sandbox, blueprint(candidates=(LINEAR, own), tuning=False), 6.0, modules=OWN)
    assert status(run)["own_sum"] == "stopped the budget is too short to train own code fold by fold"
    assert run.result("linear") is not None


@pytest.mark.parametrize(("seconds", "waves"), [(49.0, 4), (49.0, 3), (98.0, 4), (600.0, 2)])
def test_own_code_has_time_to_train_after_its_starts(seconds: float, waves: int) -> None:
    own = own_code_seconds(seconds, waves)
    assert own <= seconds / 2
    assert own - waves * START_SECONDS > 0.2 * seconds, "starts alone are no training"


def test_a_driver_that_fails_is_a_violation_with_its_trace(tmp_path: Path, sandbox: Sandbox) -> None:
    run = search(tmp_path, sandbox, blueprint(), 3.0, table=guests().assign(size="none"))
    (wrong,) = run.failures
    assert wrong.code == "search-failed" and "not readable as number" in wrong.message and "Traceback" in wrong.evidence
    assert not run.results
