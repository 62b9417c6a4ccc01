"""What one machine bears: many runs at once in one process and in several, a very long journal, very many artefacts.

`python -m palmette_bench load` prints a table; exit status 1 when a run fails, something leaks, or a limit is passed.
With `--small` it does a tenth of everything.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import click

from palmette.engine import (
    Journal,
    Verdict,
    Violation,
    create,
    list_runs,
    resume_run,
    run_environment,
    run_state,
    run_topology,
)
from palmette.engine import events as e
from palmette.engine.journal import NAME
from palmette.sandbox.temporary import temporary_folder
from palmette_bench import toys

READING = 2.0
"""Seconds of a processor in which a journal of 10,000 events must be read."""
READS = {"runs": 1, "show run": 1, "resume run --human none": 4}
"""How many times commands read it."""
PAUSE = 0.2
"""Seconds that every actor of a concurrent run takes at least, so that all are at work together."""
DIGEST = "0" * 64


class ProcessResources(NamedTuple):
    """What a process holds."""

    descriptors: int
    threads: int
    children: int
    megabytes: float
    """Resident."""

    @classmethod
    def now(cls) -> ProcessResources:
        gc.collect()
        resident = int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
        descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
        return cls(descriptors, threading.active_count(), len(children), resident / 2**20)


class LoadFigure(NamedTuple):
    """One measured thing."""

    what: str
    figure: str
    is_good: bool


class Duration(NamedTuple):
    """Seconds; those of the clock say little where others are at work, too."""

    processor: float
    wall: float

    def __str__(self) -> str:
        return f"{self.processor:.2f} s on a processor, {self.wall:.2f} by the clock"


def in_one_process(runs: int, root: Path) -> Iterator[LoadFigure]:
    """Runs in as many threads; a first round takes what is loaded once and for all out of the comparison."""
    rounds, most = [], 0
    for number in range(3):
        begun, before = time.perf_counter(), ProcessResources.now()
        with ThreadPoolExecutor(runs) as pool:
            done = [pool.submit(_toy_run, root / f"{number}-{index}") for index in range(runs)]
            while not all(one.done() for one in done):
                most = max(most, sum(1 for _ in Path("/proc/self/fd").iterdir()))
                time.sleep(0.02)
        failed = [str(one.exception()) for one in done if one.exception()]
        ended = sum(run.status == "finished" for run in list_runs(root) if run.id.startswith(f"{number}-"))
        rounds.append((time.perf_counter() - begun, before, ProcessResources.now(), ended, failed))
    seconds, before, after, ended, failed = rounds[-1]
    yield LoadFigure(
        f"{runs} runs in one process", f"{ended} finished in {seconds:.1f} s", ended == runs and not failed
    )
    yield LoadFigure("their first error", failed[0][:100] if failed else "none", not failed)
    yield LoadFigure("descriptors at most", str(most), most < 1024)
    for name in ("descriptors", "threads", "children"):
        was, is_now = getattr(before, name), getattr(after, name)
        yield LoadFigure(f"{name} before and after", f"{was}, {is_now}", is_now <= was)
    figure = f"{before.megabytes:.0f}, {after.megabytes:.0f} MB"
    yield LoadFigure("memory before and after the third round", figure, after.megabytes - before.megabytes < 20)


def _toy_run(folder: Path) -> None:
    run_environment("topology", toys.arguments(folder.with_name(f"outside-{folder.name}"), pause=PAUSE), folder)


def in_processes(runs: int, root: Path) -> Iterator[LoadFigure]:
    """Commands that share a folder of runs."""
    environment = {**os.environ, "PALMETTE_RUNS": str(root / "runs")}
    begun = time.perf_counter()
    started = []
    for index in range(runs):
        outside = root / f"outside-{index}"
        given = toys.arguments(outside)["given"]
        assert isinstance(given, dict)
        options = [word for name, value in given.items() for word in ("--given", f"{name}={value}")]
        command = [sys.executable, "-m", "palmette", "run", str(toys.TOPOLOGY), *options, "--json"]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    outputs = [one.communicate()[0] for one in started]
    seconds, codes = time.perf_counter() - begun, [one.returncode for one in started]
    finished = [run for run in list_runs(root / "runs") if run.status == "finished"]
    worst = next((out.decode()[-200:] for one, out in zip(started, outputs, strict=True) if one.returncode), "none")
    is_good = codes == [0] * runs and len(finished) == runs
    yield LoadFigure(f"{runs} runs in processes of their own", f"{len(finished)} finished in {seconds:.1f} s", is_good)
    yield LoadFigure("their first error", worst, worst == "none")


def long_journal(count: int, root: Path) -> Iterator[LoadFigure]:
    """A run of very many events: listed, shown, resumed."""
    folder = root / "long"
    begun = time.perf_counter()
    _write_long(folder, count)
    yield LoadFigure(
        f"a journal of {count:,} events",
        f"{(folder / NAME).stat().st_size / 2**20:.0f} MB, written in {time.perf_counter() - begun:.0f} s",
        True,
    )
    short = root / "short" / "run"
    run_environment("topology", toys.arguments(root / "outside"), short)
    (root / "long-runs").mkdir()
    folder = folder.rename(root / "long-runs" / "run")
    opened = min(_timed(lambda: Journal(folder).close()) for _ in range(3))
    yield LoadFigure("  opened to be written", str(opened), opened.processor < READING)
    state = min(_timed(lambda: run_state(folder)) for _ in range(3))
    yield LoadFigure("  its state read", str(state), state.processor < READING)
    for command, reads in READS.items():
        usual, took = (_quickest(command, place.parent) for place in (short, folder))
        figure = f"{took}; of a short run {usual}"
        yield LoadFigure(f"  palmette {command}", figure, took.processor - usual.processor < reads * READING)


def _write_long(folder: Path, count: int) -> None:
    """A whole toy run, then steps, failures and paid calls without end, then an end."""
    outside = folder.with_name("outside")
    run_environment("topology", toys.arguments(outside), folder)
    ok, failed = Verdict(ok=True), Violation(code="careless", message="The draft is careless.")
    with Journal(folder) as journal:
        state = journal.state
        drafted, key = state.digests["drafted"], state.actor("draft").key
        inputs = dict(state.actor("draft").inputs)
        cycle: list[e.Event] = [
            e.Decided(next="draft", target="draft"),
            e.InvocationStarted(actor="draft", inputs=inputs),
            e.AttemptSucceeded(actor="draft", key=key, output=drafted, verdict=ok, seconds=0.1),
            e.ActorSucceeded(
                actor="draft", artefact="drafted", key=key, inputs=inputs, output=drafted, verdict=ok, seconds=0.1
            ),
        ]
        journal.append(e.RunResumed(version="0"))
        facts = {"reason": "It was careless.", "fix": "Write carefully.", "violations": (failed,)}
        cycle.append(e.AttemptFailed.model_validate({"actor": "draft", "number": 1, "seconds": 0.1, **facts}))
        while journal.seq < count - 1:
            call = {"actor": "draft", "role": "speller", "request": f"{journal.seq:064x}", "answer": DIGEST}
            paid = e.CallAnswered.model_validate({**call, "spend": toys.PRICE, "seconds": 0.1})
            journal.append(*[paid, *cycle[:4] * 25, *cycle[4:]][: count - 1 - journal.seq])
        journal.append(e.RunEnded(status="finished"))


def many_artefacts(count: int, root: Path) -> Iterator[LoadFigure]:
    """A run with a paid call and a file for each of so many elements, and its resume."""
    folder = root / "many"
    before = ProcessResources.now()
    services = {"arguments": toys.arguments(root / "outside-many", count), "folder": folder}
    setup = create("environment", "topology", services)
    took = _timed(lambda: run_topology(setup, folder))
    state = run_state(folder)
    files = sum(1 for _ in (folder / "artefacts" / "spelled").rglob("*.txt"))
    is_good = state.ended is not None and state.ended.status == "finished" and files == count
    yield LoadFigure(f"a run of {count:,} elements", f"{files:,} files in {took}", is_good)
    resumed = _timed(lambda: resume_run(folder, setup=setup))
    yield LoadFigure("  its resume", str(resumed), run_state(folder).ended is not None)
    after = ProcessResources.now()
    held = before.descriptors >= after.descriptors and before.threads >= after.threads
    yield LoadFigure("  descriptors and threads before and after", f"{before[:2]}, {after[:2]}", held)


def _quickest(words: str, runs: Path) -> Duration:
    """Of a command, over a folder of runs."""
    command = [sys.executable, "-m", "palmette", *words.split()]
    environment = {**os.environ, "PALMETTE_RUNS": str(runs)}
    return min(
        _timed(lambda: subprocess.run(command, env=environment, capture_output=True, check=True)) for _ in range(3)
    )


def _timed(work: Callable[[], object]) -> Duration:
    begun, used = time.perf_counter(), sum(os.times()[:4])
    work()
    return Duration(sum(os.times()[:4]) - used, time.perf_counter() - begun)


@click.command()
@click.option("--small", is_flag=True, help="A tenth of everything.")
def main(small: bool) -> None:
    """Run many runs at once, long journals and many artefacts; exit status 1 when a limit is passed."""
    share = 10 if small else 1
    good = True
    measures = ((in_one_process, 200), (in_processes, 20), (long_journal, 10_000), (many_artefacts, 10_000))
    for measure, size in measures:
        with temporary_folder() as root:
            for found in measure(size // share, root):
                print(f"{'' if found.is_good else '! '}{found.what:<46}{found.figure}", flush=True)
                good &= found.is_good
    sys.exit(int(not good))
