"""Runs that kill themselves or are killed: each in a process of its own, whose orphans come to this one.

A run goes through the journal's events one after the other. `Moment` is where it dies: before one is
written or after, each only once, so that a chain of kills and resumes visits them all and comes to an end.
"""

import ctypes
import json
import os
import random
import signal
import sys
import tempfile  # noqa: TID251 - its folder is changed here
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import JsonValue

from palmette.engine import Entry, Event, Journal, resume_run, run_environment, run_state
from palmette.engine.journal import NAME
from palmette.sandbox.temporary import clear

Moment = Literal["before", "after", "random", "never"]
_IDENTIFYING = {"kind", "actor", "item", "next", "target", "instruction", "key", "request", "artefact", "status"}
_SUBREAPER = 36
GRACE = 30.0
"""Seconds that programs of a killed run may take to end."""


class RunRequest(NamedTuple):
    """A run that can be made again and again."""

    environment: str
    arguments: Mapping[str, JsonValue]


class Chain(NamedTuple):
    """A run with everything that was done to it."""

    kills: tuple[Moment, ...]
    seconds: float
    orphans: tuple[str, ...]
    """Commands of what outlived a killed run."""
    failed: str = ""
    """The output of a run that ended by itself short of its goal."""


def adopt_orphans() -> None:
    """Processes whose parents are killed become children of this one, so that none can hide."""
    assert ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0


def worked(job: RunRequest, folder: Path) -> None:
    """Starts the run of a folder, or goes on with it."""
    if (folder / NAME).is_file() and run_state(folder).opened is not None:
        resume_run(folder)
    else:
        run_environment(job.environment, job.arguments, folder)


def killed_until_done(job: RunRequest, folder: Path, plan: Sequence[Moment], rng: random.Random, span: float) -> Chain:
    """Kills a run at one moment after the other until it ends; `span`: seconds that it takes undisturbed."""
    begun, orphans, kills = time.monotonic(), list[str](), list[Moment]()
    while True:
        now = plan[len(kills)] if len(kills) < len(plan) else "never"
        pid = _begun(job, folder, now)
        if now == "random":
            _kill_in(pid, rng.uniform(0, span))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != -signal.SIGKILL:
            output = (folder.parent / "output.txt").read_text("utf-8") if status else ""
            orphans += outlived()
            return Chain(tuple(kills), time.monotonic() - begun, tuple(orphans), output[-2000:])
        kills.append(now)
        orphans += outlived()


def _begun(job: RunRequest, folder: Path, moment: Moment) -> int:
    """A process, and a group of them, at work on the run."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        scratch = folder.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        os.environ["TMPDIR"], tempfile.tempdir = str(scratch), None  # read again, and passed on to programs
        output = os.open(folder.parent / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if moment in ("before", "after"):
            _die_at_events(moment == "before", folder.parent / "seen.txt")
        worked(job, folder)
        status = 0
    except Exception:  # noqa: BLE001 - the end of a process: the error is printed
        traceback.print_exc()
    finally:
        clear()
        sys.stderr.flush()
        os._exit(status)


def _die_at_events(before: bool, seen: Path) -> None:
    """From now on this process kills its group at every event that is not in the file yet."""
    original: Callable[..., list[Entry]] = Journal.append

    def append(self: Journal, *events: Event) -> list[Entry]:
        seen_as = json.dumps([event.model_dump(mode="json", include=_IDENTIFYING) for event in events])
        is_new = seen_as not in (seen.read_text("utf-8").splitlines() if seen.exists() else [])
        if not is_new:
            return original(self, *events)
        entries = [] if before else original(self, *events)
        with seen.open("a", encoding="utf-8") as file:
            file.write(f"{seen_as}\n")
        os.killpg(0, signal.SIGKILL)
        return entries

    Journal.append = append  # type: ignore[method-assign]  # in a process that is about to die


def _kill_in(pid: int, seconds: float) -> None:
    """Kills the group of a process unless it ends before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(min(0.005, max(0.0, end - time.monotonic())))
    with suppress(ProcessLookupError, PermissionError):  # it has not come to its own group yet, or is gone
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def outlived() -> list[str]:
    """Waits for what a killed run has left; what does not end is named, and ended."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            return []
    left = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()]
    commands = [Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").replace("\0", " ")[:200] for pid in left]
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return commands
