"""Kills and load in small: what `make bench-kills` and `make bench-load` measure holds here too."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palmette.engine import Journal, fold, read_journal, resume_run, run_environment, run_state
from palmette_bench import load, toys
from palmette_bench.run_comparison import artefacts, damaged, differing, steady


def test_runs_that_are_killed_again_and_again_end_as_if_nothing_had_been() -> None:
    """In a process of its own: it takes the orphans of its kills for its children."""
    command = [sys.executable, "-m", "palmette_bench", "kills", "toys=24"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, before, after, at_random = map(int, done.stdout.splitlines()[1].split()[1:5])
    assert (kills, before, after, at_random) == (24, 8, 8, 8)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run_environment("topology", toys.arguments(tmp_path / "outside"), tmp_path / "run")
    return tmp_path / "run"


def undone(folder: Path) -> None:
    """A call is paid for and an actor done a second time."""
    again = read_journal(folder, "call_answered", "attempt_succeeded")
    with Journal(folder) as journal:
        journal.append(again[0].event, again[1].event)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda run: None, ""),
        (undone, "list_words was done, and was done again|speller was asked the same again"),
        (lambda run: (run / "artefacts/drafted/draft.txt").write_text("other"), "the working copy of drafted"),
        (lambda run: (run / "artefacts/drafted/.digest").unlink(), "the working copy of drafted"),
        (lambda run: (run / "objects/.x.draft").touch(), r"\.x\.draft is left"),
        (lambda run: (run / "work/001-draft").mkdir(parents=True), "the workspace 001-draft is left"),
    ],
)
def test_what_a_kill_could_do_is_noticed(run: Path, damage: Callable[[Path], object], says: str) -> None:
    damage(run)
    found = list(damaged(run))
    assert bool(found) == bool(says) and all(re.search(says, one) for one in found)


def test_two_runs_tell_what_is_measured_and_what_must_be_the_same(run: Path, tmp_path: Path) -> None:
    run_environment("topology", toys.arguments(tmp_path / "elsewhere"), tmp_path / "other")
    one, other = artefacts(run), artefacts(tmp_path / "other")
    wanted = steady(one, other)
    assert set(one) - set(wanted) == {"outside"} and not list(differing(other, wanted))
    assert list(differing({**other, "count": "4"}, wanted)) == ["count is 4, not 3"]


OUTLIVING = """
import os, subprocess
from palmette_bench import kill_chain
kill_chain.GRACE = 0.5
kill_chain.adopt_orphans()
if not (killed := os.fork()):
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    os._exit(0)
os.waitpid(killed, 0)
print(kill_chain.outlived(), kill_chain.outlived())
"""


def test_what_outlives_a_killed_run_is_found_and_ended() -> None:
    done = subprocess.run([sys.executable, "-c", OUTLIVING], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['sleep 60 '] []"


def test_a_long_journal_is_a_run_like_any_other(tmp_path: Path) -> None:
    load._write_long(tmp_path / "long", 2_500)
    assert len(read_journal(tmp_path / "long")) == 2_500
    state = run_state(tmp_path / "long")
    assert state == fold(read_journal(tmp_path / "long")) and state.bill["draft", "speller"].calls > 20
    assert resume_run(tmp_path / "long").status == "finished"


@pytest.mark.parametrize(
    ("measure", "size"), [(load.in_one_process, 5), (load.in_processes, 2), (load.many_artefacts, 120)]
)
def test_a_machine_bears_many_runs_and_artefacts(
    measure: Callable[[int, Path], Iterator[load.LoadFigure]],
    size: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load, "PAUSE", 0.01)
    assert not [found for found in measure(size, tmp_path) if not found.is_good]
