"""`relay:console` as a person uses it: at a terminal, and from a pipe."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from palmette.errors import ModelError

WORDS = 'topology: words\nstart: [writer]\nend: [writer]\nactors: {writer: {use: "canned:Writer"}}\n'
LONG = f'word = "{"0123456789" * 1200}"'
"""A line of 12,000 characters; terminals cut at 4096."""
GOOD = f'My model says:\n\n```json\n{{"reason": "ž"}}\n```\n```python script\nprint("hello")\n\t\n{LONG}\n```\n'
COMMAND = [sys.executable, "-m", "palmette", "run", "words.yaml", "--model", "relay:console", "--planner", "offline"]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "words.yaml").write_text(WORDS, "utf-8")
    path = os.pathsep.join([str(Path(__file__).parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    return {**os.environ, "PALMETTE_RUNS": str(tmp_path / "runs"), "HOME": str(tmp_path), "PYTHONPATH": path}


def written(folder: Path) -> str:
    (script,) = folder.glob("runs/*/artefacts/script/script.py")
    return script.read_text("utf-8")


def test_answers_are_pasted_at_a_terminal(tmp_path: Path, place: dict[str, str]) -> None:
    terminal, theirs = pty.openpty()
    with subprocess.Popen(COMMAND, cwd=tmp_path, env=place, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        shown = b""
        for answer in ("I would print it.\nEND\n", f"{GOOD}END\n"):
            shown += until(terminal, b"then a line END -----")
            for start in range(0, len(answer), 1000):  # as terminals paste: in pieces, read as they come
                os.write(terminal, answer[start : start + 1000].encode())
                time.sleep(0.01)
        shown += until(terminal, b"palmette show", child)
        assert child.wait(30) == 0, shown.decode()
    os.close(terminal)
    assert "Your answer could not be used." in shown.decode() and LONG in written(tmp_path)


def until(terminal: int, what: bytes, child: subprocess.Popen[bytes] | None = None) -> bytes:
    """What the terminal shows up to something."""
    shown = b""
    while what not in shown:
        assert select.select([terminal], [], [], 30)[0], shown[-2000:]
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        assert child is None or child.poll() in (None, 0), shown.decode()
    return shown


def test_answers_are_piped(tmp_path: Path, place: dict[str, str]) -> None:
    answers = f"no code\nEND\n{GOOD}END\n"
    done = subprocess.run(COMMAND, cwd=tmp_path, env=place, input=answers, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("----- prompt of writer -----") == 2 and LONG in written(tmp_path)


@pytest.mark.parametrize("answers", ["", "```python\nprint(1)\n```\n"])
def test_an_answer_that_does_not_end_is_not_used(answers: str, tmp_path: Path, place: dict[str, str]) -> None:
    done = subprocess.run(COMMAND, cwd=tmp_path, env=place, input=answers, capture_output=True, encoding="utf-8")
    assert done.returncode == ModelError.exit_code
    assert "before a line END" in done.stderr and "no-answer" in done.stderr
