"""What becomes of a job whose process or server ends under it."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palmette.errors import MachineError
from palmette.features.harness import jobs
from palmette.features.harness.palmette_driver.answers import Answers
from palmette.sandbox import Access, ExecutionResult, python_command


class Ending:
    """A sandbox whose processes end without an answer."""

    isolation = SimpleNamespace(name="x")

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
    alive = True

    def __init__(self, sandbox: Ending) -> None:
        self.sandbox = sandbox

    def seen_by(self, access: Access) -> Access:
        return access


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "java_environment", dict)


def run(server: Server, folder: Path) -> jobs.JobResult:
    job = jobs.HarnessJob("main", [{}], folder, (), 1.0, {})
    return jobs.run_job(server, job)


class Mortal(Server):
    """A server that the first jobs end."""

    def __init__(self, sandbox: Ending, deaths: int, code: str = "spark-died") -> None:
        self.sandbox, self.deaths, self.code = sandbox, deaths, code

    @property
    def alive(self) -> bool:  # type: ignore[override]  # as of a real one, not to be set
        return self.sandbox.runs > self.deaths

    def seen_by(self, access: Access) -> Access:
        if self.sandbox.runs > 1:
            raise MachineError("The Spark server died twice.", "Look at what it was asked to do.", code=self.code)
        return access


@pytest.mark.parametrize(("deaths", "runs"), [(0, 1), (1, 2), (2, 2)])
def test_a_job_is_run_again_once_when_the_server_died(tmp_path: Path, deaths: int, runs: int) -> None:
    """Whoever comes next has another server, and is not told that the machine is at fault."""
    sandbox = Ending()
    done = run(Mortal(sandbox, deaths), tmp_path)
    said = "SparkDied: The Spark server died twice." if deaths == 2 else "ProcessEnded: the process ended before"
    assert sandbox.runs == runs and done.answers[0].error.startswith(said)
    assert done.answers[0].is_missing and not done.execution.ok


def test_a_server_that_cannot_be_started_is_nobodys_fault(tmp_path: Path) -> None:
    sandbox = Ending()
    with pytest.raises(MachineError):
        run(Mortal(sandbox, 2, "spark-not-started"), tmp_path)


def test_answers_are_read_up_to_a_bound_and_behind_no_link(tmp_path: Path) -> None:
    class Writing(Ending):
        is_link = False

        def run(self, argv: Any, stdin: bytes, **options: Any) -> ExecutionResult:
            out = Path(argv[-1]) / "out"
            Answers(out, 1.0, str(tmp_path), stdin.decode()).write(0, {"value": 7})
            if self.is_link:
                (out / "0.json").unlink()
                (out / "0.json").symlink_to(__file__)
            else:
                with (out / "0.json").open("ab") as file:
                    file.truncate(1 << 27)
            return super().run(argv, **options)

    for Writing.is_link in (False, True):
        fields = run(Server(Writing()), tmp_path).answers[0]
        assert fields.error.startswith("UnreadableResult: ") and fields.value is None
        assert Writing.is_link or "is larger than" in fields.error


def test_a_frame_with_an_interval_is_an_answer_that_names_its_type(tmp_path: Path) -> None:
    class Writing(Ending):
        def run(self, argv: Any, stdin: bytes, **options: Any) -> ExecutionResult:
            answers = Answers(Path(argv[-1]) / "out", 1.0, str(tmp_path), stdin.decode())
            answers.write(0, {"columns": [("age", "interval day to second")], "rows": [(timedelta(days=1),)]})
            return super().run(argv, **options)

    answer = run(Server(Writing()), tmp_path).answers[0]
    assert answer.error.startswith("UnreadableResult: 'interval day to second' is not a type here")


def test_what_was_not_reached_in_time_says_so(tmp_path: Path) -> None:
    answer = run(Server(Ending(jobs.TOO_LATE)), tmp_path).answers[0]
    assert answer.error == "NotRun: an earlier one took too long"


def test_the_usual_places_of_a_repository_are_on_the_path_once(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    job = jobs.HarnessJob("main", [{}], tmp_path, (tmp_path / "lib", source), 1.0, {})
    assert job.path == [str(tmp_path / "lib"), str(source), str(tmp_path)]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"error": 3}', '{"verdict": "passed"}', '{"columns": [["a", "int", 3]]}']
)
def test_a_result_that_was_tampered_with_is_an_error(tmp_path: Path, text: str) -> None:
    class Writing(Ending):
        def run(self, argv: Any, **options: Any) -> ExecutionResult:
            (Path(argv[-1]) / "out" / "0.json").write_text(text, encoding="utf-8")
            return super().run(argv, **options)

    answer = run(Server(Writing()), tmp_path).answers[0]
    assert answer.error.startswith("UnreadableResult") and answer.frame is None


@pytest.mark.parametrize("change", ["nothing", "the nonce", "the text", "the place"])
def test_only_whoever_was_told_the_nonce_can_answer(tmp_path: Path, change: str) -> None:
    class Writing(Ending):
        def run(self, argv: Any, stdin: bytes, **options: Any) -> ExecutionResult:
            out = Path(argv[-1]) / "out"
            answers = Answers(out, 1.0, str(tmp_path), "guessed" if change == "the nonce" else stdin.decode())
            answers.write(0 if change != "the place" else 1, {"value": 7})
            if change == "the text":
                (out / "0.json").write_text((out / "0.json").read_text().replace("7", "8"))
            elif change == "the place":
                (out / "1.json").rename(out / "0.json")
            return super().run(argv, **options)

    fields = run(Server(Writing()), tmp_path).answers[0]
    assert (fields.value, fields.error) == ((7, "") if change == "nothing" else (None, fields.error))
    assert change == "nothing" or fields.error == "UnreadableResult: the answer is not the driver's own"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ([("a", "int")], [[1 << 40]]),
        ([("a", "int")], [["1"]]),
        ([("a", "int")], [[1, 2]]),
        ([("a", "int"), ("a", "int")], [[1, 2]]),
        ([("a", "timestamp")], [["soon"]]),
        ([("a", "interval day")], [[None]]),
    ],
)
def test_rows_that_do_not_fit_their_columns_are_an_error(tmp_path: Path, columns: Any, rows: Any) -> None:
    class Writing(Ending):
        def run(self, argv: Any, stdin: bytes, **options: Any) -> ExecutionResult:
            out = Path(argv[-1]) / "out"
            Answers(out, 1.0, str(tmp_path), stdin.decode()).write(0, {"columns": columns, "rows": rows})
            return super().run(argv, **options)

    answer = run(Server(Writing()), tmp_path).answers[0]
    assert answer.error.startswith("UnreadableResult: ") and answer.frame is None


@pytest.mark.parametrize(("kind", "count", "workers"), [("probes", 31, 2), ("probes", 3, 1), ("main", 31, 1)])
def test_many_items_are_shared_out_and_come_back_in_order(tmp_path: Path, kind: str, count: int, workers: int) -> None:
    class Counting(Ending):
        def run(self, argv: Any, stdin: bytes, **options: Any) -> ExecutionResult:
            folder = Path(argv[-1])
            job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
            answers = Answers(folder / "out", 1.0, str(tmp_path), stdin.decode())
            for index, item in enumerate(job["items"]):
                answers.write(index, {"value": [item["n"], job["workers"]]})
            return super().run(argv, **options)

    job = jobs.HarnessJob(kind, [{"n": n} for n in range(count)], tmp_path, (), 1.0, {})
    answers = jobs.run_job(Server(Counting()), job).answers
    assert [answer.value for answer in answers] == [[n, workers] for n in range(count)]


@pytest.mark.parametrize(
    ("end", "code"), [("0", 0), ("driver._end(3 if 9 in items else 0)", 3), ("os.kill(os.getpid(), 9)", -9)]
)
def test_workers_share_all_items_and_the_process_ends_like_them(end: str, code: int) -> None:
    work = f"items = driver._share([*range(11)], 2); os.write(1, b'%r\\n' % items); {end}; driver._end()"
    command = f"import os, sys; sys.path[0] = {jobs._HERE!r}; from palmette_driver import main as driver; {work}"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert sorted(done.stdout.splitlines()) == ["[0, 1, 2, 3, 4, 5]", "[6, 7, 8, 9, 10]"]
    assert done.returncode == code, done.stderr


def test_the_driver_seals_by_modules_of_its_own(tmp_path: Path) -> None:
    """A repository may have modules of the same names, which would be told the nonce."""
    for name in ("hmac", "hashlib", "threading"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the repository has the nonce')")
    (tmp_path / "job.json").write_text(json.dumps({"path": [str(tmp_path)]}))
    command = python_command("-c", jobs._BOOT, jobs._HERE, str(tmp_path))
    done = subprocess.run(command, input=b"nonce", capture_output=True, check=False)
    assert b"KeyError: 'seconds'" in done.stderr, done.stderr
