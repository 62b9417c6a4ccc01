"""What becomes of a job whose process or server ends under it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palmette.features.harness import jobs
from palmette.sandbox import ExecutionResult


class Ending:
    """A sandbox whose processes end without an answer."""

    def __init__(self, exit_code: int = 1) -> None:
        self.exit_code = exit_code
        self.runs = 0

    def run(self, *_: Any, **__: Any) -> ExecutionResult:
        self.runs += 1
        return ExecutionResult(
            exit_code=self.exit_code, stdout="score: 100 %", stderr="no luck", seconds=0, ended="exited", isolation="x"
        )


class Server:
    remote = "sc://spark.example"
    is_external = False

    def __init__(self, alive: bool) -> None:
        self.alive = alive


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "java_environment", dict)


def run(sandbox: Ending, server: Server, folder: Path) -> jobs.Done:
    job = jobs.Job("main", [{}], folder, (), 1.0, {})
    return jobs.run_job(sandbox, server, job)  # type: ignore[arg-type]


def test_a_job_is_run_again_once_when_the_server_died(tmp_path: Path) -> None:
    sandbox = Ending()
    done = run(sandbox, Server(alive=False), tmp_path)
    assert sandbox.runs == 2 and done.answers[0].is_missing


def test_a_job_is_not_run_again_when_the_script_is_at_fault(tmp_path: Path) -> None:
    sandbox = Ending()
    answer = run(sandbox, Server(alive=True), tmp_path).answers[0]
    assert sandbox.runs == 1
    assert answer.error == "ProcessEnded: the process ended before the answer (exit code 1). no luck"


def test_what_was_not_reached_in_time_says_so(tmp_path: Path) -> None:
    answer = run(Ending(jobs.TOO_LATE), Server(alive=True), tmp_path).answers[0]
    assert answer.error == "NotRun: an earlier one took too long"


def test_the_usual_places_of_a_repository_are_on_the_path_once(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    job = jobs.Job("main", [{}], tmp_path, (tmp_path / "lib", source), 1.0, {})
    assert job.path == [str(tmp_path / "lib"), str(source), str(tmp_path)]
