"""The run commands on the example of a team's own actors."""

import errno
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

import palmette
import palmette.errors
from palmette.cli import COMMANDS, EXIT_STATUS, INTERRUPTED, main
from palmette.engine import Journal, Verdict, Violation
from palmette.engine.events import AttemptFailed, AttemptSucceeded, Decided, InvocationStarted
from palmette.engine.runs import RunStatus
from palmette.errors import UserError

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "cases/mistakes.yaml").read_text("utf-8"))
OWN = Path(__file__).parents[2] / "examples/own_actor"
ACTIVITY = Path(__file__).parents[1] / "features/checks/activity"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def run(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    return call(capsys, "run", str(OWN / "digest.yaml"), "--given", f"text=@{OWN / 'notes.txt'}", *more)


def test_a_run_is_made_shown_listed_edited_and_resumed(capsys: pytest.CaptureFixture[str], runs: Path) -> None:
    status, out, err = run(capsys)
    assert status == 0 and "choose_entries: Choose fewer entries" in err
    for part in ("What was done", "write_digest", "What was made", "digest", "Next", "palmette show 2", "/artefacts"):
        assert part in out
    (folder,) = runs.iterdir()
    assert (folder / "artefacts/digest/DIGEST.md").read_text().count("\n- ") == 2

    status, out, _ = call(capsys, "show", "latest")
    assert status == 0 and "The digest has 208 characters, more than 120. [too-long]" in out
    status, out, _ = call(capsys, "runs")
    assert folder.name in out and "finished" in out

    chosen = folder / "artefacts/chosen/value.json"
    chosen.write_text(chosen.read_text().replace("Python 3.10", "Python 3.9"))
    status, out, _ = call(capsys, "resume", folder.name[:15], "--json")
    assert status == 0 and json.loads(out)["status"] == "finished"
    assert "Python 3.9" in (folder / "artefacts/digest/DIGEST.md").read_text()
    status, out, _ = call(capsys, "show", "--json")
    steps = [(step["number"], step["actor"], step["outcome"]) for step in json.loads(out)["steps"]]
    assert steps[6:] == [
        (None, "run", "resumed"),
        (None, "chosen", "edited"),
        (7, "write_digest", "succeeded"),
        (8, "END", "done"),
    ]


@pytest.mark.parametrize(
    ("options", "planner", "status"),
    [
        ((), "offline", 0),
        (("--model", "replay:EMPTY"), "model", 4),
        (("--model", "replay:EMPTY", "--planner", "offline"), "offline", 0),
    ],
)
def test_a_model_plans_where_one_answers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...], planner: str, status: int
) -> None:
    recording = tmp_path / "empty.json"
    recording.write_text('{"cassette": 1, "calls": []}', encoding="utf-8")
    found, _, err = run(capsys, *(option.replace("EMPTY", str(recording)) for option in options))
    assert found == status and f"planner: {planner}" in err


def test_a_stopped_run_exits_with_6_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--planner", "sequential")
    assert status == 6 and "Stopped:" in out and "more than 120" in out
    assert "too-long: The digest has 208 characters" in out and "fix the cause" in out
    status, out, err = run(capsys, "--planner", "sequential", "--json")
    told = json.loads(out)
    assert status == 6 and told["status"] == "stopped" and told["failures"][0]["code"] == "too-long" and not err
    assert told["steps"][-1]["actor"] == "write_digest" and Path(told["artefacts"]["chosen"]["path"]).is_dir()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("resume", "nothing"), 2, "There are no runs in"),
        (("show", "latest"), 2, "There are no runs in"),
        (("rnus",), 2, "Did you mean 'runs'?"),
        (("topology", "check", "no.yaml"), 2, "no.yaml"),
        (("run", str(OWN / "digest.yaml")), 2, "not-given"),
        (("run", str(OWN / "digest.yaml"), "--given", "text"), 2, "NAME=VALUE"),
        (("run", str(OWN / "digest.yaml"), "--given", "text=x", "--planner", "ofline"), 2, "Did you mean 'offline'?"),
    ],
)
def test_mistakes_are_one_message_and_a_status(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, message: str
) -> None:
    code, _, err = call(capsys, *arguments)
    assert code == status and message in err and "Traceback" not in err


def test_mistakes_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "resume", "nothing", "--json")
    error = json.loads(out)["error"]
    assert code == error["exit_code"] == 2 and error["code"] == "unknown-run"


def test_topologies_are_checked_and_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = call(capsys, "topology", "check", str(OWN / "digest.yaml"))
    assert status == 0 and "3 actors, 3 transitions" in out
    target = tmp_path / "digest.svg"
    status, _, _ = call(capsys, "topology", "draw", str(OWN / "digest.yaml"), "--format", "svg", "-o", str(target))
    assert status == 0 and target.read_text().startswith("<svg")


def test_a_bug_is_one_message_with_a_trace_in_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("palmette.engine.list_runs", broken)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, _, err = call(capsys, "runs")
    assert code == 70 and "ZeroDivisionError" in err and "Traceback" not in err
    assert str(tmp_path / "palmette" / "bug.trace") in err
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    code, _, err = call(capsys, "runs")
    assert code == 70 and "Traceback" in err, "there is no file for it"


def test_arguments_that_are_no_text_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "show", os.fsdecode(b"caf\xe9"), "--json")
    assert code == 2 and json.loads(out)["error"]["code"] == "no-text"


@pytest.mark.parametrize("ask", [
    lambda text: palmette.automl(text, "data.csv"),
    lambda text: palmette.automl("Predict y", ["data.csv", text]),
    lambda text: palmette.automl("Predict y", "data.csv", out=text),
    lambda text: palmette.build_features(text),
])  # fmt: skip
def test_they_are_in_python_too(ask: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    with pytest.raises(UserError, match="no-text"):
        ask("caf\udce9")
    assert not (tmp_path / "runs").exists()


def test_an_empty_path_is_not_the_current_folder(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "automl", "Predict y", "--data", "", "--human", "none", "--json")
    assert code == 2 and json.loads(out)["error"]["code"] == "no-data"


def test_a_full_disk_is_not_a_bug(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "runs/x")

    monkeypatch.setattr("palmette.engine.list_runs", full)
    code, _, err = call(capsys, "runs")
    assert code == 3 and "No space left on device at 'runs/x'. Free disk space" in err


def test_ctrl_c_says_how_to_go_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("palmette.engine.list_runs", interrupted)
    code, _, err = call(capsys, "runs")
    assert code == 130 and "palmette resume latest" in err


def test_warnings_of_libraries_are_not_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def strange() -> list[object]:
        warnings.warn("of no use to whoever runs a command", UserWarning, stacklevel=1)
        return []

    monkeypatch.setattr("palmette.engine.list_runs", strange)
    monkeypatch.setattr(sys, "argv", ["palmette", "runs"])
    monkeypatch.setattr(sys, "warnoptions", [])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0 and not capsys.readouterr().err


def test_help_is_quick_and_lists_what_is_there() -> None:
    begun = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from palmette.cli import main; main(['--help'])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert time.monotonic() - begun < 5
    assert "pydantic" not in found.stderr, "help imports nothing heavy"
    assert {"run", "runs", "show", "resume", "topology"} <= set(found.stdout.split()) & set(COMMANDS)


def test_the_reference_names_every_command_status_and_exit() -> None:
    text = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text("utf-8")
    errors = {getattr(error, "exit_code", 0) for error in vars(palmette.errors).values()}
    for cell in [*(f"| `{name}" for name in COMMANDS), *(f"\n| {status} |" for status in {0, INTERRUPTED, *errors})]:
        assert cell in text
    assert set(re.findall(r"\d+", EXIT_STATUS)) == {str(status) for status in {0, INTERRUPTED, *errors}}
    for status in get_args(RunStatus):
        assert re.search(rf"^\| (\w+, )*{status}\b", text, re.MULTILINE), status


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["type"])
def test_mistakes_are_one_message_and_leave_nothing(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"BROKEN": b"topology: x\nstart: [a]\nend: [a]\nactors: {a: {next: [b]}}\n", "LATIN": b"# caf\xe9\n"}
    for name, content in made.items():
        (runs.parent / name).write_bytes(content)
    names = {"DIGEST": OWN / "digest.yaml", **{name: runs.parent / name for name in made}}
    names |= {"SCRIPT": ACTIVITY / "activity.py", "FSC": ACTIVITY / "fsc.yaml", "DFR": ACTIVITY / "dfr.yaml"}
    if "runs" in case:
        monkeypatch.setenv("PALMETTE_RUNS", str(names.get(case["runs"], case["runs"])))
    status, out, err = call(capsys, *(str(names.get(word, word)) for word in case["type"].split()))
    assert status == case["status"] and not out
    assert case["says"] in err and "Traceback" not in err
    assert not runs.exists()


def test_of_a_long_run_the_end_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palmette.cli.show.LAST", 7)
    with Journal(tmp_path) as journal:
        for _ in range(5):
            journal.append(Decided(next="a", target="a"), InvocationStarted(actor="a", inputs={}))
    _, out, _ = call(capsys, "show", str(tmp_path), "--json")
    told = json.loads(out)
    assert [step["number"] for step in told["steps"]] == [3, 4, 5] and told["earlier_events"] == 3
    _, out, _ = call(capsys, "show", str(tmp_path))
    assert "3 earlier events are left out" in out and "--all" in out
    _, out, _ = call(capsys, "show", str(tmp_path), "--all", "--json")
    told = json.loads(out)
    assert [step["number"] for step in told["steps"]] == [1, 2, 3, 4, 5] and told["earlier_events"] == 0


def test_a_failed_actor_s_workspace_is_named(capsys: pytest.CaptureFixture[str], runs: Path) -> None:
    run(capsys)
    (folder,) = runs.iterdir()
    assert [path.name for path in (folder / "work").iterdir()] == ["001-write_digest"]
    _, out, _ = call(capsys, "show", "latest")
    assert "what it worked on is in" in out and "work/001-write_digest" in out


def test_what_an_actor_tried_after_a_failure_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = Violation(code="wrong", message="It is \x1b[31mred.", evidence="line one\nline two")
    failed = AttemptFailed(actor="a", number=1, reason="", fix="", violations=(wrong,), seconds=1.0)
    mended = AttemptSucceeded(
        actor="a", key="k", output="o", verdict=Verdict(ok=True), reason="It was red.", fix="It is blue.", seconds=1.0
    )
    with Journal(tmp_path) as journal:
        journal.append(Decided(next="a", target="a"), InvocationStarted(actor="a", inputs={}), failed, mended)
    _, out, _ = call(capsys, "show", str(tmp_path), "--evidence")
    for part in ("a: It is red. [wrong]", "      line two", "a then tried: It is blue.", "because: It was red."):
        assert part in out
    assert "\x1b" not in out
    _, out, _ = call(capsys, "show", str(tmp_path), "--json")
    attempts = json.loads(out)["steps"][0]["attempts"]
    assert [(one["ok"], one["fix"], len(one["violations"])) for one in attempts] == [
        (False, "", 1),
        (True, "It is blue.", 0),
    ]
