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
    place.mkdir(exist_ok=True)
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


def test_a_run_that_is_asked_to_end_ends_in_order(tmp_path: Path) -> None:
    places = {number: tmp_path / number.name for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    running = {number: start(place, pause=0.8) for number, place in places.items()}
    waiting = {*running}
    while waiting:
        time.sleep(0.02)
        for number in [one for one in waiting if (places[one] / "outside" / "calls").exists()]:
            running[number].send_signal(number)
            waiting.remove(number)
    for number, process in running.items():
        _, err = process.communicate(timeout=60)
        ended = run_state(the_run(places[number])).ended
        assert process.returncode == INTERRUPTED and "palmette resume latest" in err
        assert ended and ended.status == "interrupted"
    run = str(the_run(tmp_path / "SIGINT"))
    again = subprocess.run([sys.executable, "-m", "palmette", "resume", run], capture_output=True, check=False)
    assert again.returncode == 0
    assert len((tmp_path / "SIGINT" / "outside" / "calls").read_text().split()) == 3


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
