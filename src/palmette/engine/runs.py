"""Starts, resumes and lists runs: the public entry to the engine."""

import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from palmette.engine.actor import Paid, Pay, Spend
from palmette.engine.artefacts import ArtefactStore
from palmette.engine.events import RunEnded, RunOpened, RunResumed, RunStarted
from palmette.engine.executor import Executor
from palmette.engine.human import Human, NoHuman
from palmette.engine.journal import NAME, Journal, run_state
from palmette.engine.recorder import PaidCallCache, Recorder
from palmette.engine.registry import create, names
from palmette.engine.setup import Observer, RunBudget, RunResult, Setup
from palmette.engine.state import RunState
from palmette.engine.storage import is_running, unwritable
from palmette.engine.topology import Topology
from palmette.errors import DeveloperError, MachineError, RunError, RunStopped, did_you_mean, require_text


class RunSession:
    """A run folder, created with the first event, so that invalid input leaves no run behind.

    Registered observers watch in addition to the given one.
    """

    def __init__(
        self,
        folder: Path,
        observer: Observer | None = None,
        *,
        environment: str = "",
        arguments: Mapping[str, JsonValue] | None = None,
        resumes: bool = False,
        human: Human | None = None,
        agreed: tuple[str, ...] = (),
    ) -> None:
        """`human` replaces the environment's; `agreed`: see `Setup`."""
        self.folder = folder.absolute()
        registered = (create("observer", name, {"folder": self.folder}) for name in names("observer"))
        self._observers = (*([observer] if observer else []), *registered)
        self._opened = RunOpened(environment=environment, arguments=dict(arguments or {}), version=version("palmette"))
        self._resumes, self._human, self._agreed = resumes, human, agreed
        self._guard = threading.Lock()
        self._paid_calls: PaidCallCache | None = None  # None until the folder is locked

    def work(self, setup: Setup | None = None) -> RunResult:
        """Works on the run until it ends. The setup is always closed, and an unfinished run can be resumed."""
        try:
            if self._resumes:
                self._hold(RunBudget())
            setup = setup or self._open()
            self._walk(setup)
            return self._end("finished")
        except RunStopped as stop:
            if self._paid_calls is None:
                raise
            return self._end("stopped", stop.message)
        except KeyboardInterrupt:
            with suppress(MachineError):  # nothing can be written
                self._record_end("interrupted")
            raise
        except Exception as error:  # whatever ends a run is journaled, and raised again
            with suppress(MachineError):  # an unwritable disk may have ended the run
                self._record_end("failed", str(error))
            raise
        finally:
            if setup:
                setup.close()
            if self._paid_calls:
                self._paid_calls.recorder.journal.close()

    @contextmanager
    def calls(self, budget: RunBudget) -> Iterator[Pay]:
        """A `Pay` for calls outside a topology, which the folder remembers."""
        with closing(self._hold(budget).recorder.journal):
            yield self._payer(budget)
            self._record_end("finished")

    def _walk(self, setup: Setup) -> None:
        setup = replace(setup, human=self._human or setup.human, agreed=self._agreed or setup.agreed)
        setup.require_asked()
        paid_calls = self._hold(setup.budget)
        given = {name: paid_calls.store.put(value) for name, value in setup.given.items()}
        if paid_calls.recorder.state.header is None:
            topology = setup.topology.model_dump_json(exclude_defaults=True)
            limits = setup.budget.model_dump(exclude_none=True)
            paid_calls.recorder.record(RunStarted(topology=topology, given=given, seed=setup.seed, limits=limits))
        for observer in self._observers:
            observer.opened(setup.about)
        Executor(setup, self.folder, paid_calls).run(given)
        setup.finish()

    def _open(self) -> Setup:
        name = self._opened.environment
        if not name:
            message = "The run was put together in code, not by a registered environment."
            raise RunError(message, "Give its setup: resume_run(folder, setup=...).", code="no-environment")
        arguments, folder = self._opened.arguments, self.folder
        services = {"arguments": arguments, "folder": folder, "payer": self._payer, "asker": self._asker}
        setup = create("environment", name, services)
        if not isinstance(setup, Setup):
            message = f"The environment {name!r} gave a {type(setup).__name__}, not a Setup."
            raise DeveloperError(message, "Return palmette.engine.Setup.", code="wrong-setup")
        return setup

    def _payer(self, budget: RunBudget) -> Pay:
        """A `Pay` for the environment while it opens."""

        def pay(request: JsonValue, estimate: Spend, make: Callable[[], Paid], role: str = "") -> JsonValue:
            return self._hold(budget).payer("")(request, estimate, make, role)

        return pay

    def _asker(self, human: Human) -> Human:
        """The human of the run as the environment asks while it opens."""
        human = self._human or human
        if isinstance(human, NoHuman):
            return human
        return _RecordedHuman(human, lambda: (self._paid_calls or self._hold(RunBudget())).recorder)

    def _hold(self, budget: RunBudget) -> PaidCallCache:
        """The paid calls of the run within a budget; locks the folder first if necessary."""
        with self._guard:
            if self._paid_calls is None:
                with ExitStack() as held:
                    journal = held.enter_context(Journal(self.folder))
                    self._paid_calls = self._begin(journal, budget)
                    held.pop_all()
            self._paid_calls.recorder.budget = budget
            return self._paid_calls

    def _begin(self, journal: Journal, budget: RunBudget) -> PaidCallCache:
        known = journal.seq > 0
        if known and not self._resumes:
            message = f"There is a run in {str(self.folder)!r} already."
            raise RunError(message, f"Resume it: palmette resume {self.folder}", code="run-exists")
        store, recorder = ArtefactStore(self.folder), Recorder(journal, self._observers, budget)
        store.tidy()
        recorder.record(RunResumed(version=self._opened.version) if known else self._opened)
        paid_calls = PaidCallCache(recorder, store)
        paid_calls.record_lost()
        return paid_calls

    def _end(self, status: Literal["finished", "stopped"], reason: str = "") -> RunResult:
        self._record_end(status, reason)
        assert self._paid_calls
        return RunResult(self.folder, self._paid_calls.recorder.state, status, reason)

    def _record_end(self, status: Literal["finished", "stopped", "failed", "interrupted"], reason: str = "") -> None:
        if self._paid_calls:
            self._paid_calls.recorder.record(RunEnded(status=status, reason=reason))


@dataclass(frozen=True)
class _RecordedHuman:
    """A human whose questions and answers are journaled, so that other processes see them and a resume remembers."""

    human: Human
    recorder: Callable[[], Recorder]

    def ask(self, question: str) -> str | None:
        return self.recorder().ask(self.human, question, "actor")


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
        raise RunError(message, "Start a new run.", code="empty-run")
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
