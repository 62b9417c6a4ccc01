"""Figures and the page of a study, from records made by hand; and the command."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from palmette_bench.__main__ import main
from palmette_bench.featbench import experiment
from palmette_bench.featbench.experiment import StudyOptions, cells, chosen
from palmette_bench.featbench.metrics import ORDER, by_actor, reasons, summary, usual_pass_at, within
from palmette_bench.featbench.records import ActorTally, Condition, RunRecord, SeededFault
from palmette_bench.featbench.report import StudyRecords, write_report
from palmette_bench.featbench.study_command import main as features

TASKS = ("usr_ofr_rdm_ftrs", "other")


def record(
    task: str = TASKS[0], planner: str = "offline", run: int = 0, *, good: bool = True, **changes: Any
) -> RunRecord:
    tallies = {name: ActorTally(successes=1, failures=index, invocations=1) for index, name in enumerate(ORDER)}
    given = {
        "code": "c", "task": task, "planner": planner, "run": run, "seed": 0, "condition": Condition(), "rate": 0.4,
        "status": "finished" if good else "stopped", "reason": "" if good else "code_generator failed: it differs.",
        "steps": 8 + run, "actors": tallies, "seconds": 1.0, "work": 60.0, "killed": 9, "mutants": 10,
        "faults": (SeededFault(actor="testcase_coder", draw=0, kind="wrong import", latent=False),), "delivered": good,
    }  # fmt: skip
    return RunRecord.model_validate({**given, **changes})


RECORDS = [
    record(task, planner, run, good=planner == "offline" or (planner == "sequential" and run > 0))
    for task in TASKS
    for planner in ("offline", "sequential", "random")
    for run in range(3)
]


def test_the_papers_measure_and_the_usual_one_are_told_apart() -> None:
    mine = summary([one for one in RECORDS if one.planner == "sequential"])
    assert mine.success.mean == pytest.approx(2 / 3) and mine.success.deviation == pytest.approx(math.sqrt(2) / 3)
    assert mine.usual_pass == 1.0, "one of three always succeeds"
    assert [usual_pass_at(3, good, 9) for good in (0, 9)] == [0.0, 1.0]
    assert mine.interval[0] < 2 / 3 < mine.interval[1]


def test_a_view_that_is_wrong_on_hidden_tables_is_no_success() -> None:
    wrong = record(differences=("row 1",))
    mine = summary([wrong, record()])
    assert mine.silent_wrong == mine.success.mean == 0.5
    assert reasons([wrong]) == [("delivered, and wrong on hidden tables", 1)]
    assert reasons([record(good=False)])[0][0].startswith("code_generator failed")


def test_attempts_are_counted_by_actor_and_steps_by_limit() -> None:
    tallies = by_actor([record(), record()])
    assert (tallies["code_generator"].successes, tallies["code_generator"].failures) == (2, 10)
    assert summary([record()]).failure_rate.mean == pytest.approx(15 / 21)
    assert [within([record(run=0), record(run=5)], limit) for limit in (7, 8, 13)] == [0.0, 0.5, 1.0]


def test_the_report_has_the_papers_tables_and_needs_nothing_else(tmp_path: Path) -> None:
    swept = [record(planner=planner, condition=Condition(factor=2.0)) for planner in ("offline", "random")]
    clean = [record(condition=Condition(factor=0.0), faults=())]
    page = write_report(StudyRecords([*RECORDS, *swept, *clean], "the command", "Here."), tmp_path)
    text = page.read_text()
    assert "| planner-guided (rules) | 0.833 (0.373) | 1.000 (0.000) |" in text
    assert "| sequential | 0.600 (0.490) | 0.667 (0.471) |" in text
    assert "6.78 (1.40)" in text and "41.87% (16.34%)" in text
    assert "## Sensitivity" in text and "### Times the published rate" in text and "## Without faults" in text
    plots = {path.name for path in (tmp_path / "planners").iterdir()}
    assert plots == {"success.png", "rates.png", "actors.png", "factor.png", "steps.png"}
    assert all(f"planners/{name}" in text for name in plots)


def test_a_study_compares_first_and_varies_then() -> None:
    tasks = chosen(["usr_ofr_rdm_ftrs"])
    every = cells(tasks, StudyOptions(runs=2, sensitivity=True))
    assert [cell.condition for cell in every[:6]] == [Condition()] * 6
    assert {cell.planner for cell in every} == {"offline", "sequential", "random"} and len(every) == len(set(every))
    assert {cell.condition.attempts for cell in every} >= {1, 10}
    assert {cell.condition.latent for cell in every} >= {0, 0.8}
    assert {cell.condition.factor for cell in cells(tasks, StudyOptions(rate=0.0))} == {0.0}


def invoked(*arguments: str) -> Any:
    return CliRunner().invoke(features, arguments)


@pytest.mark.parametrize(("good", "status"), [(True, 0), (False, 1)])
def test_the_command_says_whether_what_is_demanded_came_out(
    good: bool, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(options: StudyOptions, out: Path, done: Any) -> Sequence[RunRecord]:
        found = [record(run=run, good=good) for run in range(options.runs)]
        for one in found:
            done(one, len(found))
        return found

    monkeypatch.setattr(experiment, "experiment", made)
    result = invoked("--tasks", "usr_ofr_rdm_ftrs", "--out", str(tmp_path), "--json")
    assert result.exit_code == status
    told = json.loads(result.stdout)
    assert told["planners"]["offline"]["pass@3 as published"] == float(good) and bool(told["missed"]) != good
    assert (tmp_path / "planners.md").is_file()
    result = invoked("--tasks", "usr_ofr_rdm_ftrs", "--out", str(tmp_path))
    assert result.exit_code == status and "Success by planner" in result.stdout and "3/3" in result.stderr


@pytest.mark.parametrize(("arguments", "told"), [
    (("--faults", "2"), "not a probability"),
    (("--faults", "often"), "not a probability"),
    (("--tasks", "usr_ofr_rdm"), "Did you mean"),
    (("--planner", "ofline"), "Did you mean 'offline'"),
])  # fmt: skip
def test_mistakes_are_said_before_anything_starts(
    arguments: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["features", "--out", str(tmp_path), *arguments])
    assert stop.value.code == 2 and told in capsys.readouterr().err


def test_a_whole_study_with_stand_ins(tmp_path: Path) -> None:
    arguments = ("--stand-ins", "--tasks", "usr_ofr_rdm_ftrs", "--runs", "1", "--faults", "0.3", "--out", str(tmp_path))
    first = invoked(*arguments, "--json")
    told = json.loads(first.stdout)
    assert set(told["planners"]) == {"offline", "sequential", "random"}
    assert told["planners"]["offline"]["pass@3 as published"] == 1.0 and not told["missed"]
    lines = (tmp_path / "stand-ins.jsonl").read_text().strip().splitlines()
    assert len(lines) == told["runs"] == 3
    assert "no check was run" in (tmp_path / "stand-ins.md").read_text()
    invoked(*arguments)
    assert (tmp_path / "stand-ins.jsonl").read_text().strip().splitlines() == lines, "what is there is not run again"
