"""How a command ends that is asked to end, or that nobody listens to any more."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from palmette.cli import INTERRUPTED
from palmette.engine import run_state
from palmette_bench import toys


def start(place: Path, pause: float, before: str = "", **streams: int) -> subprocess.Popen[str]:
    """A toy run in a process of its own, with `place/runs` for its folder."""
    arguments = toys.arguments(place / "outside", pause=pause)
    given = [word for name, value in dict(arguments["given"]).items() for word in ("--given", f"{name}={value}")]  # type: ignore[arg-type]  # a mapping, as the toys give it
    command = [sys.executable, "-m", "palmette", "run", str(toys.TOPOLOGY), *given]
    wanted = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(
        ["sh", "-c", f'exec "$@" {before}', "sh", *command],
        env={**os.environ, "PALMETTE_RUNS": str(place / "runs"), "TMPDIR": str(place)},
        encoding="utf-8",
        **wanted,
    )


def the_run(place: Path) -> Path:
    (folder,) = (place / "runs").iterdir()
    return folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda one: one.name)
def test_who_asks_to_end_ends_in_order(number: signal.Signals, tmp_path: Path) -> None:
    running = start(tmp_path, pause=0.3)
    while not (tmp_path / "outside" / "calls").exists():
        time.sleep(0.02)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    ended = run_state(the_run(tmp_path)).ended
    assert running.returncode == INTERRUPTED and "palmette resume latest" in err
    assert ended and ended.status == "interrupted"
    again = subprocess.run(
        [sys.executable, "-m", "palmette", "resume", str(the_run(tmp_path))], capture_output=True, check=False
    )
    assert again.returncode == 0 and len((tmp_path / "outside" / "calls").read_text().split()) == 3


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_has_gone_ends_no_run(stream: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    running = start(tmp_path, 0.0, **{stream: writer})
    os.close(writer)
    out, err = running.communicate(timeout=60)
    ended = run_state(the_run(tmp_path)).ended
    assert running.returncode == 0 and "Traceback" not in (out or "") + (err or "")
    assert ended and ended.status == "finished"


def test_a_run_without_any_stream_opens_nothing_in_their_place(tmp_path: Path) -> None:
    """A journal with the number of a standard stream would be written over by whoever prints."""
    running = start(tmp_path, 0.0, before="0<&- 1>&- 2>&-")
    running.communicate(timeout=60)
    ended = run_state(the_run(tmp_path)).ended
    assert running.returncode == 0 and ended and ended.status == "finished"


def test_results_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        running = start(tmp_path, 0.0, stdout=full.fileno())
        _, err = running.communicate(timeout=60)
    assert running.returncode == 3 and "No space left on device" in err
