"""What is delivered of all that was trained, by verified out-of-fold outputs."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_coding import Shop, candidate, codes

from palmette.automl.actors.comparator import actor
from palmette.automl.actors.comparator.actor import Comparator, FittedPackage
from palmette.automl.artefacts import Assembly, Comparison
from palmette.automl.candidates import Trial
from palmette.automl.problems.problem import problem_of
from palmette.automl.project.writer import write_package
from palmette.automl.search import results
from palmette.automl.search.results import CandidateLoad, CandidateResult, write_results
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import Constraint
from palmette.engine import Violation


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(autouse=True)
def _unfitted(monkeypatch: pytest.MonkeyPatch, shop: Shop) -> None:
    """Packages are there without being fitted."""

    def fit(self: Comparator, _: Any, chosen: Any, board: Any, scratch: Path, limit: float) -> FittedPackage:
        (self.store.fresh(f"{scratch.name}-1") / "model").mkdir()
        return FittedPackage(f"{scratch.name}-1", (), 1.0)

    monkeypatch.setattr(Comparator, "fitted", fit)


def result(shop: Shop, name: str, share: float, seconds: float = 1.0, **fields: Any) -> CandidateResult:
    """A candidate that is right in this share of the rows, each in others."""
    splits = DataSplits.of(shop.known["samples"], shop.known["profile"].split)
    truth = problem_of(shop.known["blueprint"]).encoded_target(splits.train, candidate("linear").strategy)
    assert truth is not None
    right = np.random.default_rng(len(name)).random(len(truth)) < share
    said = np.where(right, truth, 1 - truth)
    outputs = np.column_stack([1 - said, said]) * 0.8 + 0.1
    learning = seconds / (shop.known["blueprint"].folds.count - 1)
    trial = Trial(candidate=candidate(name, **fields), status="finished", seconds=seconds, learning=learning)
    return CandidateResult(trial, outputs)


def choose(shop: Shop, *results: CandidateResult, **changes: Any) -> tuple[Comparison, Any, Comparator]:
    """What is chosen, with its input and the actor."""
    load = CandidateLoad(tuple(one.trial for one in results), results)
    write_results(shop.store.fresh("search-1"), load)
    fields: dict[str, Any] = {"assembly": Assembly(store="search-1", tracks=(), seconds=2.0)}
    task = shop.known["task"].model_copy(update=changes.pop("task", {}))
    blueprint = shop.known["blueprint"].model_copy(update={"seconds": 20.0, **changes})
    asked, comparator = shop.input(Comparator, **fields, task=task, blueprint=blueprint), shop.make(Comparator)
    made = comparator.run(asked, shop.context()).output
    assert isinstance(made, Comparison) and comparator.check(asked, made, shop.context()).ok
    return made, asked, comparator


def names(made: Comparison) -> set[str]:
    return {one.candidate.name for one in made.selection.members}


def weak(shop: Shop) -> list[CandidateResult]:
    return [result(shop, "dummy", 0.5), result(shop, "linear", 0.7)]


def test_the_strongest_is_chosen_and_baselines_stay_on_the_leaderboard(shop: Shop) -> None:
    made, _, _ = choose(shop, *weak(shop), result(shop, "lightgbm", 0.95), ensembling="single")
    assert names(made) == {"lightgbm"} and made.package == "package-1" and made.baseline == "baseline-1"
    assert {one.name: one.track for one in made.leaderboard} == {
        "lightgbm": "traditional", "linear": "baseline", "dummy": "baseline"
    }  # fmt: skip
    assert "the best baseline, linear, has" in made.reason


def test_an_ensemble_has_a_row_of_its_own(shop: Shop) -> None:
    several = [result(shop, name, 0.85) for name in ("lightgbm", "lightgbm-deep", "extra_trees")]
    made, _, _ = choose(shop, *weak(shop), *several, ensembling="mean")
    assert len(names(made)) > 1 and [one.name for one in made.leaderboard if one.chosen] == ["ensemble"]


def test_a_baseline_may_be_all_that_there_is(shop: Shop) -> None:
    made, _, _ = choose(shop, *weak(shop))
    assert names(made) == {"linear"} and made.baseline == made.package


def test_only_learners_that_the_request_allows_are_delivered(shop: Shop) -> None:
    wishes = [{"name": "linear", "level": "forbidden"}]
    task = type(shop.known["task"]).model_validate({**shop.known["task"].model_dump(), "learners": wishes})
    found = [*weak(shop), result(shop, "lightgbm", 0.6)]
    made, _, _ = choose(shop, *found, task={"learners": task.learners})
    assert names(made) == {"lightgbm"} and "is not delivered" not in made.reason
    made, _, _ = choose(shop, *found, result(shop, "linear-better", 0.95), task={"learners": task.learners})
    assert "linear-better has a better score and is not delivered: the request does not allow" in made.reason


def test_members_fit_into_the_time_that_is_left(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 seconds 17 are left after the search: a candidate of 200 seconds in its folds is not fitted again."""
    found = [*weak(shop), result(shop, "lightgbm", 0.95, seconds=200.0), result(shop, "extra_trees", 0.9)]
    made, _, _ = choose(shop, *found)
    assert "lightgbm" not in names(made) and "extra_trees" in names(made)
    assert "lightgbm has a better score and is not delivered: its final fit would exceed the time" in made.reason
    assert not made.selection.rows and " rows, as the time" not in made.reason
    made, asked, _ = choose(shop, found[0], found[2], ensembling="single")
    rows = len(asked.splits.train)
    assert names(made) == {"lightgbm"} and made.selection.rows == 0, "few rows are all used"
    monkeypatch.setattr(results, "LEAST_ROWS", 1)
    made, _, _ = choose(shop, found[0], found[2], ensembling="single")
    assert 0 < made.selection.rows < rows
    assert f"It is fitted on {made.selection.rows} of {rows} rows" in made.reason


@pytest.mark.parametrize(("score", "delivered"), [(0.99, "lightgbm"), (0.62, "linear")])
def test_a_far_better_candidate_is_fitted_on_the_rows_that_there_is_time_for(
    shop: Shop, score: float, delivered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its final fit on all rows would take about four times as long as there is time; errors grow by half."""
    monkeypatch.setattr(results, "LEAST_ROWS", 10)
    monkeypatch.setattr(actor, "LEAST_ROWS", 10)
    folds = shop.known["blueprint"].folds.count
    slow = result(shop, "lightgbm", score, seconds=250.0 * (folds - 1))
    made, _, _ = choose(shop, *weak(shop), slow, seconds=60.0, ensembling="single")
    assert names(made) == {delivered} and bool(made.selection.rows) is (delivered == "lightgbm"), made.reason


def test_the_shortest_final_fit_is_counted_unless_the_request_limits_training(shop: Shop) -> None:
    """Of 3 seconds 1 is left, and no fit is stopped before 5: one of 2 seconds and its start fits in."""
    folds = shop.known["blueprint"].folds.count
    slow = result(shop, "lightgbm", 0.95, seconds=2.0 * (folds - 1))
    made, _, _ = choose(shop, *weak(shop), slow, seconds=3.0, ensembling="single")
    assert names(made) == {"lightgbm"}
    limit = Constraint(quantity="training_time", comparison="<=", value=3.0)
    made, _, _ = choose(shop, *weak(shop), slow, seconds=3.0, ensembling="single", task={"constraints": (limit,)})
    assert names(made) == {"linear"}


def test_a_candidate_without_all_folds_is_compared_on_the_rows_that_it_predicted(shop: Shop) -> None:
    found = result(shop, "lightgbm", 0.95)
    part = np.where(np.arange(len(found.outputs))[:, None] % 3 < 1, found.outputs, np.nan)
    partial = replace(found, outputs=part, trial=found.trial.model_copy(update={"missing": (1, 2)}))
    made, _, _ = choose(shop, *weak(shop), partial)
    count = len(part)
    assert made.measured == f"out of fold on {-(-count // 3)} of {count} rows" and made.measured in made.reason
    assert {one.name for one in made.leaderboard} >= {"lightgbm", "linear", "dummy"}
    made, _, _ = choose(shop, *weak(shop), partial, result(shop, "extra_trees", 0.8))
    assert names(made) == {"lightgbm"} and {one.name for one in made.leaderboard} >= {"lightgbm", "extra_trees"}


def test_the_baseline_is_delivered_where_the_final_fit_does_not_end_in_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, limits = Comparator.fitted, list[float]()

    def fit(self: Comparator, *given: Any) -> FittedPackage | Violation | None:
        limits.append(given[-1])
        return None if given[3].name == "package" and given[-1] < 600 else fitted(self, *given)

    monkeypatch.setattr(Comparator, "fitted", fit)
    monkeypatch.setattr(actor, "cores", lambda: 2)
    made, _, _ = choose(shop, *weak(shop), result(shop, "lightgbm", 0.95), seconds=60.0, ensembling="single")
    assert names(made) == {"linear"} and made.package == made.baseline == "baseline-1"
    assert "as the final fit of lightgbm did not end in time" in made.reason
    assert limits == [pytest.approx(1.15 * 60 - 2, abs=5)] * 2, "budget, less the seconds of the search"
    dummy = weak(shop)[0]
    made, _, _ = choose(shop, dummy, result(shop, "lightgbm", 0.95), seconds=60.0, ensembling="single")
    assert names(made) == {"lightgbm"}, "a dummy is not a model"
    assert sorted(limits[2:]) == [pytest.approx(1.15 * 60 - 2, abs=5), 600], "no fit begins again"
    limits.clear()
    slow = result(shop, "lightgbm", 0.95, seconds=50.0 * (shop.known["blueprint"].folds.count - 1))
    made, _, _ = choose(shop, *weak(shop), slow, seconds=60.0, ensembling="single")
    assert max(limits) == pytest.approx(2 * (2.5 + 50)), "what is late is waited for: twice its expected time"
    limits.clear()
    several = result(shop, "lightgbm", 0.95), result(shop, "extra_trees", 0.9, seconds=4.0)
    made, _, _ = choose(shop, *weak(shop), *several, seconds=60.0, ensembling="mean")
    assert len(names(made)) == 1 and names(made) < {"lightgbm", "extra_trees"}
    assert "alone, as the final fit of " in made.reason
    assert min(limits[:2]) < max(limits[:2]), "the ensemble ends before the baseline: time is kept for the best member"


@pytest.mark.parametrize(("cores", "waits"), [(1, ["package", "baseline"]), (2, ["baseline", "package"])])
def test_on_one_core_the_baseline_is_fitted_after_the_choice(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, cores: int, waits: list[str]
) -> None:
    """With two cores, the choice is fitted while the baseline is."""
    fitted, ended = Comparator.fitted, list[str]()
    is_baseline_done = threading.Event()

    def fit(self: Comparator, *given: Any) -> FittedPackage | Violation | None:
        kind = given[3].name
        if kind == "package" and cores > 1:
            assert is_baseline_done.wait(60)
        made = fitted(self, *given)
        ended.append(kind)
        is_baseline_done.set()
        return made

    monkeypatch.setattr(Comparator, "fitted", fit)
    monkeypatch.setattr(actor, "cores", lambda: cores)
    made, _, _ = choose(shop, *weak(shop), result(shop, "lightgbm", 0.95), ensembling="single")
    assert names(made) == {"lightgbm"} and made.baseline and ended == waits


def test_a_fit_that_fails_is_the_planners(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Violation(code="fit-failed", message="The final fit fails.", subject="own_features.py")
    monkeypatch.setattr(Comparator, "fitted", lambda *_, **__: wrong)
    load = CandidateLoad(tuple(one.trial for one in weak(shop)), tuple(weak(shop)))
    write_results(shop.store.fresh("search-1"), load)
    asked = shop.input(Comparator, assembly=Assembly(store="search-1", tracks=()))
    attempt = shop.make(Comparator).run(asked, shop.context())
    assert attempt.output is None and codes(attempt) == ["fit-failed"]


def test_results_that_are_gone_are_trained_again(shop: Shop, tmp_path: Path) -> None:
    asked = shop.input(Comparator, assembly=Assembly(store="search-none", tracks=()))
    attempt = shop.make(Comparator).run(asked, shop.context())
    assert attempt.output is None and codes(attempt) == ["model-missing"]


def test_an_ensemble_with_a_long_package_has_to_be_measurably_better(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    learners = ("lightgbm", "tabm", "catboost", "xgboost", "mlp", "linear")
    alike = [weak(shop)[0], *(result(shop, name, 0.8) for name in learners)]
    monkeypatch.setattr(actor, "MOST_LINES", 450)
    made, asked, _ = choose(shop, *alike, ensembling="mean")
    files = write_package(asked.blueprint, made.selection)
    assert sum(file.text.count("\n") for file in files if file.path.endswith(".py")) <= actor.MOST_LINES
    assert "tabm" not in names(made) and "would make a package longer than 450 lines" in made.selection.reason
    monkeypatch.setattr(actor, "MOST_LINES", 100)
    made, _, _ = choose(shop, *alike, ensembling="mean")
    assert "tabm" in names(made) and "longer" not in made.selection.reason, "a single model is not shorter"
