"""Paths that lead nowhere, are longer than any can be, or are not for us: one message each, and never a bug."""

import errno
import json
import os
from pathlib import Path

import pytest

from palmette.cli import main
from palmette.engine import new_run_folder

LONG = "x" * 6000
COMMANDS = (("show",), ("resume", "latest"), ("automl", "Predict y", "--human", "none"), ("run", "topology.yaml"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--json"])
    said = capsys.readouterr()
    assert caught.value.code in (2, 3), said
    error: dict[str, str] = json.loads(said.out)["error"]
    assert error["message"] and (error["remedy"] or error["problems"])
    return error


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", [LONG, "y" * 300, os.fsdecode(b"caf\xe9")], ids=["endless", "long", "no text"])
def test_a_place_for_runs_that_there_cannot_be(
    command: tuple[str, ...], place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("topology.yaml").write_text("topology: x\n")
    monkeypatch.setenv("PALMETTE_RUNS", place)
    error = refused(capsys, *command)
    assert error["code"] in ("unwritable-runs", "no-text", "invalid-input") and len(error["message"]) < 800


@pytest.mark.parametrize("arguments", [
    ("show", LONG), ("resume", LONG), ("run", LONG), ("features", "loop"), ("features", "loop/x"),
    ("automl", "Predict y", "--data", LONG), ("automl", "Predict y", "--topology", LONG),
    ("automl", "Predict y", "--out", LONG), ("automl", "Predict y", "--out", "loop/x"),
    ("automl", f"Predict y of {'x' * 400}.csv"),
], ids=lambda arguments: f"{arguments[0]} {arguments[-1][:12]}")  # fmt: skip
def test_a_path_that_no_system_has(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--human", "none") if arguments[0] == "automl" else ()
    assert refused(capsys, *arguments, *given)["code"] != "bug"


def test_a_link_that_leads_nowhere_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "This is a link that leads nowhere" in refused(capsys, "run", "loop")["message"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG])
def test_what_may_not_be_looked_at_is_no_bug(
    number: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied() -> None:
        raise OSError(number, os.strerror(number), LONG)

    monkeypatch.setattr("palmette.engine.list_runs", denied)
    error = refused(capsys, "runs")
    assert error["code"] == "unusable-path" and "(6000 characters)" in error["message"]


def test_a_run_about_a_file_of_the_longest_name_has_a_folder() -> None:
    for letter in ("x", "ü", "𒀀"):
        new_run_folder(letter * 250).mkdir(parents=True)


def test_a_request_without_end_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "automl", "predict y " * 100_000, "--data", "a.csv", "--human", "none")
    assert error["code"] == "request-too-long"
