"""What is fitted next, with a clock that the test sets."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_blueprints import LIGHTGBM, LINEAR, blueprint

from palmette.automl.candidates import Candidate
from palmette.automl.search import encoding_costs, schedule
from palmette.automl.search.job import SearchJob
from palmette.automl.search.schedule import Rating, Schedule
from palmette.automl.search.worker import SAMPLE, FoldResult, FoldTask

DUMMY = Candidate(name="dummy", learner="dummy")
KNN = Candidate(name="knn", learner="knn")
FOLDS = np.arange(240) % 3


class Clock:
    """Runs a schedule with fits that take the seconds that a test sets."""

    def __init__(self, candidates: tuple[Candidate, ...], fits: dict[str, float], **options: Any) -> None:
        self.fits, self.scores, self.whole = fits, options.pop("scores", {}), options.pop("whole", 0.0)
        folds = options.pop("folds", FOLDS)
        fields = {"blueprint": blueprint(), "baselines": ("dummy",), "seconds": 100.0, "started": 0.0, "workers": 1}
        made = SearchJob.model_validate({**fields, "candidates": candidates, "tuning": False, **options})
        self.now, self.name, self.fold = 0.0, "", 0
        self.rating = Rating(lambda _: self.scores.get(self.name, 0.5), lambda _, __: self.scores.get(self.name, 0.5))
        self.schedule = Schedule(made, folds, self.rating, 0.0, made.seconds)
        self.tasks: list[FoldTask] = []

    def run(self, until: float = np.inf) -> list[str]:
        """The candidates in the order of their fits."""
        while self.now < until and (task := self.schedule.next_task(self.now)):
            self.tasks.append(task)
            self.name = task.candidate.name
            seconds = next((value for name, value in self.fits.items() if self.name.startswith(name)), 1.0)
            self.now += seconds
            if task.fold == SAMPLE:
                self.schedule.record(task, FoldResult(None, None, seconds, shared=self.whole))
                continue
            rounds = 10 if self.name.startswith("lightgbm") else None
            outputs = np.full((int(np.sum(self.schedule.folds == task.fold)), 2), 0.5)
            self.schedule.record(task, FoldResult(outputs, rounds, seconds))
        return [one.candidate.name for one in self.tasks]

    def status(self) -> dict[str, str]:
        return {one.candidate.name: f"{one.status} {one.note}".strip() for one in self.schedule.trials}


def test_candidates_come_in_order_all_folds_of_one_first() -> None:
    clock = Clock((DUMMY, LIGHTGBM, LINEAR), {})
    assert clock.run() == ["dummy"] * 3 + ["lightgbm"] * 3 + ["linear"] * 3
    assert clock.status() == dict.fromkeys(("dummy", "lightgbm", "linear"), "finished")
    assert clock.schedule.trials[1].rounds == (10, 10, 10)


def test_a_candidate_that_would_not_end_in_time_is_stopped_and_what_cannot_end_is_not_begun() -> None:
    clock = Clock((DUMMY, LINEAR, KNN, LIGHTGBM), {"dummy": 0.1, "linear": 5, "knn": 45})
    clock.run(100)
    assert clock.status()["knn"] == "stopped it would not finish in time"
    assert clock.status()["linear"] == "finished"


def test_the_dummy_and_the_first_candidate_finish_however_short_the_time() -> None:
    clock = Clock((DUMMY, LIGHTGBM, LINEAR), {"dummy": 5, "lightgbm": 5}, seconds=1.0)
    assert not clock.schedule.is_complete
    assert clock.run() == ["dummy"] * 3 + ["lightgbm"] * 3
    assert clock.schedule.is_complete and clock.schedule.trials[1].status == "finished"
    assert all(one.seconds > 0 for one in clock.tasks[3:])


def test_learners_in_steps_have_a_share_of_the_time_that_is_left() -> None:
    clock = Clock((DUMMY, LIGHTGBM), {"dummy": 0.0, "lightgbm": 10})
    clock.run()
    assert [round(one.seconds) for one in clock.tasks[3:]] == [17, 20, 30], "half of 100 s, divided by three folds"


def test_a_track_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The neural track gets its candidate though those of the other would fill the time."""
    several = tuple(LINEAR.model_copy(update={"name": f"linear-{number}"}) for number in range(20))
    other = Candidate(name="mlp", learner="mlp")
    clock = Clock((DUMMY, *several, other), {"dummy": 0.0, "linear": 4, "mlp": 4})
    monkeypatch.setattr(schedule, "candidate_track", lambda one: "neural" if one.learner == "mlp" else "traditional")
    clock.schedule._shares = {"traditional": 0.5, "neural": 0.5}
    order = clock.run(100)
    assert 12 <= order.index("mlp") - 3 <= 15, "half of the time for each track"
    assert len(order) > 20, "what the other track leaves is used"


def test_searched_settings_that_are_hopeless_are_stopped_after_a_fold() -> None:
    scores = {
        "lightgbm": 0.8,
        "linear": 0.7,
        "knn": 0.7,
        "dummy": 0.5,
        "lightgbm-tuned-1": 0.6,
        "lightgbm-tuned-2": 0.9,
    }
    clock = Clock((DUMMY, LIGHTGBM, LINEAR, KNN), {}, scores=scores, tuning=True)
    clock.run(18)
    assert clock.status()["lightgbm-tuned-1"] == "stopped its first folds scored below the median"
    assert clock.status()["lightgbm-tuned-2"] == "finished"
    tuned = next(one.candidate for one in clock.schedule.trials if one.candidate.name == "lightgbm-tuned-2")
    assert tuned.settings and tuned.learner == "lightgbm"


def test_a_failure_ends_its_candidate_only() -> None:
    clock = Clock((DUMMY, LIGHTGBM, LINEAR), {})
    task = clock.schedule.next_task(0.0)
    assert task is not None
    clock.schedule.record(task, FoldResult(None, None, 0.1, note="ValueError: no"))
    assert clock.status() == {"dummy": "failed ValueError: no"}
    assert set(clock.run()) == {"lightgbm", "linear"}


def test_folds_that_there_was_no_time_for_have_no_outputs() -> None:
    clock = Clock((DUMMY, LIGHTGBM, LINEAR), {"dummy": 0.1, "lightgbm": 200})
    kept: dict[str, np.ndarray] = {}
    clock.schedule.finished = kept.__setitem__  # type: ignore[method-assign]  # as the driver overrides it
    clock.run(150)
    assert clock.schedule.has_fold and not clock.schedule.is_complete
    clock.schedule.abandon()
    found = next(one for one in clock.schedule.trials if one.candidate.name == "lightgbm")
    assert (found.status, found.note, found.missing) == ("finished", "measured in 1 of 3 folds", (1, 2))
    assert np.array_equal(np.isfinite(kept["lightgbm"]).all(axis=1), FOLDS == 0) and found.score is None
    assert clock.schedule.is_complete


def test_the_search_ends_early_enough_for_the_final_fit_that_the_first_fold_lets_expect() -> None:
    clock = Clock((DUMMY, KNN), {"dummy": 0.0, "knn": 35})
    clock.run(35)
    assert clock.schedule.has_fold and clock.schedule.end == pytest.approx(120 - 1.5 * 35), "a fold lacks a third"


def test_features_that_are_encoded_already_cost_nothing() -> None:
    forest = Candidate(name="extra_trees", learner="extra_trees")
    clock = Clock((DUMMY, LIGHTGBM, forest, KNN), {})
    encoding = clock.schedule._encoding
    assert encoding.expected(forest) == encoding.expected(LIGHTGBM) > 0
    encoding.record(LIGHTGBM, FoldResult(None, None, 9.0, encoding=5.0))
    assert encoding.expected(forest) == 0.0 < encoding.expected(KNN)


@pytest.mark.parametrize(("whole", "paid"), [(30.0, True), (60.0, False)])
def test_features_are_paid_for_by_their_cost_on_a_sample(
    monkeypatch: pytest.MonkeyPatch, whole: float, paid: bool
) -> None:
    """Those of 60 s would take the final fit, which computes them again, beyond the time."""
    network = SimpleNamespace(name="network", once=True, seconds=lambda _: 1.0)
    slow = Candidate(name="extra_trees", learner="extra_trees")
    usual = encoding_costs.encoders_of
    monkeypatch.setattr(
        encoding_costs, "encoders_of", lambda one, facts: [network] if one == slow else usual(one, facts)
    )
    clock = Clock((DUMMY, LINEAR, slow, KNN), {}, whole=whole)
    order = clock.run()
    assert [task.fold for task in clock.tasks].count(SAMPLE) == 1 and clock.tasks[0].fold == SAMPLE
    assert ("extra_trees" in order[1:]) == paid
    assert clock.status()["knn"] == "finished"
    trials = {one.candidate.name: one for one in clock.schedule.trials}
    assert not paid or trials["extra_trees"].encoding == whole
    assert clock.schedule.end == (88.5 if paid else 100.0), "the final fit takes 31.5 s, and may take 20 s more"


def test_the_search_ends_early_enough_for_the_final_fit_of_the_best() -> None:
    clock = Clock((DUMMY, KNN, LINEAR), {"knn": 20}, scores={"knn": 0.9})
    clock.run(70)
    assert clock.schedule.end == 90.0, "a fit of 30 s on all rows, and 20 s beyond the search"


def test_a_search_goes_on_with_as_many_rows_as_there_is_time_for() -> None:
    """A fit of 1000 rows takes two of three seconds: one of 300000, and the final fit, would take many."""
    folds = np.arange(300_000) % 3
    clock = Clock((DUMMY, KNN), {"knn": 2.0}, folds=folds, seconds=3.0)
    assert clock.run() == ["knn"] and [one.fold for one in clock.tasks] == [SAMPLE]
    assert 2_000 < clock.schedule.most_rows < 30_000
    clock.schedule.take(folds[: clock.schedule.most_rows], clock.rating)
    assert clock.run()[1:] == ["dummy"] * 3 + ["knn"] * 3
    assert clock.status() == {"dummy": "finished", "knn": "finished"}


def test_the_first_candidate_that_ends_in_time_has_to_finish() -> None:
    clock = Clock((DUMMY, KNN, LINEAR), {"knn": 2.0, "": 0.01}, folds=np.arange(300_000) % 3, seconds=3.0)
    assert clock.run() == ["knn", "linear"] + ["dummy"] * 3 + ["linear"] * 3 and clock.schedule.needed == "linear"


@pytest.mark.parametrize(
    ("first", "second", "needed"),
    [(100.0, 90.0, "knn"), (100.0, 10.0, "linear"), (100.0, 1.0, "linear"), (10.0, 1.0, "knn")],
)
def test_the_first_that_ends_in_time_on_a_tenth_of_the_rows_has_to_finish_else_one_that_is_about_as_quick(
    first: float, second: float, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold and the final fit may take 6 s at least."""
    clock = Clock((DUMMY, KNN, LINEAR), {}, folds=np.arange(100_000) % 3, seconds=1.0)
    seconds = {"knn": first, "linear": second}
    monkeypatch.setattr(clock.schedule, "_seconds_needed", lambda one: seconds[one.name])
    clock.schedule._decided(0.0)
    most = 100_000 * min(6.0 / seconds[needed], 1.0)
    assert clock.schedule.needed == needed and clock.schedule.most_rows == pytest.approx(most, abs=1)
