"""Starts, resumes and lists runs: the public entry to the engine."""

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from palmette.engine.human import Human
from palmette.engine.journal import NAME, run_state
from palmette.engine.run_session import RunSession
from palmette.engine.setup import Observer, RunResult, Setup
from palmette.engine.state import RunState
from palmette.engine.storage import is_running, unwritable
from palmette.engine.topology import Topology
from palmette.errors import RunError, did_you_mean, require_text

LONGEST_NAME = 50  # characters of a run's id that describe it; file systems allow such names


def runs_folder() -> Path:
    """The folder of all runs: `$PALMETTE_RUNS`, or `palmette-runs` in the current folder.

    Raises:
        UserError: the path is not valid text.
        MachineError: the folder cannot be created or read.
    """
    folder = Path(os.environ.get("PALMETTE_RUNS") or "palmette-runs").absolute()
    require_text(str(folder))
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise unwritable(folder, error.strerror) from error
    return folder


def new_run_folder(what: str) -> Path:
    """A new folder, e.g. `palmette-runs/20261120-141530-offer_daily-3f2a91c7`; MachineError if it cannot be created."""
    folder = runs_folder()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise unwritable(folder, "" if there.is_dir() else f"{str(there)!r} is a file")
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    name = re.sub(r"[^\w.]+", "-", what)[:LONGEST_NAME].strip("-")
    return folder / f"{stamp}-{name}-{secrets.token_hex(4)}"


def run_environment(
    name: str,
    arguments: Mapping[str, JsonValue],
    folder: Path | None = None,
    observer: Observer | None = None,
    human: Human | None = None,
) -> RunResult:
    """Opens a registered environment and runs it; `resume_run` can open it again from the journal.

    An environment is a function that returns a `Setup`; its parameters are filled by name:

    - `arguments`: those given here.
    - `folder`: the run's, an absolute path.
    - `payer`: makes a `Pay` for a `RunBudget`, so that the run remembers paid calls made while the environment opens.
    - `asker`: makes a `Human` whose questions the run remembers, of one that is asked while the environment opens.

    The folder of the run is created at the first such call or question, or once the environment is open.

    `human` is asked in place of the environment's.

    Raises:
        UserError: an argument holds invalid text.
    """
    require_text(arguments)
    session = RunSession(folder or new_run_folder(name), observer, environment=name, arguments=arguments, human=human)
    return session.work()


def run_topology(setup: Setup, folder: Path, observer: Observer | None = None) -> RunResult:
    """Runs a setup in a new folder, and closes it.

    The result is `finished`, or `stopped` if a budget was reached or a person is needed. Every other
    `PalmetteError` is journaled and raised. Either way the run can be resumed.
    """
    return RunSession(folder, observer).work(setup)


def resume_run(
    folder: Path,
    observer: Observer | None = None,
    setup: Setup | None = None,
    *,
    human: Human | None = None,
    agreed: tuple[str, ...] = (),
) -> RunResult:
    """Continues a run; exactly the actors that depend on edited artefacts run again.

    The setup is opened again from the journal's first event. A setup that was built in code must be passed.

    Args:
        folder: of the run.
        observer: watches the run.
        setup: if the run's setup was built in code.
        human: replaces the environment's from now on.
        agreed: actors, or the artefacts that they produce, approved in advance.

    Raises:
        RunError: there is no such run, or it asks for no such approval.
    """
    opened = run_state(folder).opened
    if opened is None:
        message = f"The run in {str(folder.absolute())!r} was cut off before it began."
        raise RunError(message, "Start it anew.", code="empty-run")
    session = RunSession(
        folder,
        observer,
        environment=opened.environment,
        arguments=opened.arguments,
        resumes=True,
        human=human,
        agreed=agreed,
    )
    return session.work(setup)


RunStatus = Literal["running", "finished", "stopped", "failed", "interrupted", "killed", "unreadable"]


@dataclass(frozen=True)
class RunSummary:
    """One line of `palmette runs`."""

    id: str
    folder: Path
    what: str  # name of the topology
    status: RunStatus
    started: datetime
    steps: int = 0
    reason: str = ""  # why it stopped or is unreadable
    environment: str = ""
    ended: float | None = None  # seconds since the epoch


def list_runs(root: Path | None = None) -> list[RunSummary]:
    """All runs, newest first; runs with an unreadable journal have the status `unreadable`."""
    root = root or runs_folder()
    summaries = [run_summary(path.parent) for path in root.glob(f"*/{NAME}")] if root.is_dir() else []
    return sorted(summaries, key=lambda run: (run.started, run.id), reverse=True)


def summarise(folder: Path, state: RunState) -> RunSummary:
    """The run's line in `palmette runs`."""
    environment = state.opened.environment if state.opened else ""
    return RunSummary(
        id=folder.name,
        folder=folder,
        what=Topology.model_validate_json(state.header.topology).topology if state.header else environment,
        status=state.ended.status if state.ended else "running" if is_running(folder) else "killed",
        started=datetime.fromtimestamp(state.started or _touched(folder)).astimezone(),
        steps=state.decisions,
        reason=state.ended.reason if state.ended else "",
        environment=environment,
        ended=state.last if state.ended else None,
    )


def run_summary(folder: Path) -> RunSummary:
    """The run's line, also if its journal is unreadable."""
    try:
        return summarise(folder, run_state(folder))
    except RunError as error:
        at = _touched(folder)
        started = datetime.fromtimestamp(at).astimezone()
        return RunSummary(folder.name, folder, "", "unreadable", started, reason=error.message, ended=at)


def _touched(folder: Path) -> float:
    """When the journal was last written, in seconds since the epoch."""
    return (folder / NAME).stat().st_mtime


def find_run(id: str) -> Path:
    """The folder of a run, by id, unique prefix of an id, path, or `latest`."""
    for folder in (Path(id), runs_folder() / id):
        with suppress(OSError):  # too long for a path, or not readable
            if (folder / NAME).is_file():
                return folder.absolute()
    runs = list_runs()
    if id == "latest" and runs:
        return runs[0].folder
    found = [run for run in runs if run.id.startswith(id)]
    if len(found) == 1:
        return found[0].folder
    place = f"in {str(runs_folder())!r}"
    what = f"There is no run {id!r} {place}" if runs else f"There are no runs {place}"
    if found:
        what = f"{len(found)} runs begin with {id!r}"
    raise RunError(
        f"{what}.{did_you_mean(id, [run.id for run in runs])}", "`palmette runs` lists the runs.", code="unknown-run"
    )
