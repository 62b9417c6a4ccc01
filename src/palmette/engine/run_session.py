"""One process working on one run: it opens the environment, walks the topology and journals the end."""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from palmette.engine.artefacts import ArtefactStore
from palmette.engine.calls import Paid, Pay, Spend
from palmette.engine.events import RunEnded, RunOpened, RunResumed, RunStarted
from palmette.engine.executor import Executor
from palmette.engine.human import Human, NoHuman
from palmette.engine.journal import Journal
from palmette.engine.recorder import PaidCallCache, Recorder
from palmette.engine.registry import create, names
from palmette.engine.setup import Observer, RunBudget, RunResult, Setup
from palmette.errors import DeveloperError, MachineError, RunError, RunStopped


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
        self._paid_calls: PaidCallCache | None = None
        """None until the folder is locked."""

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
                self._paid_calls.recorder.close()

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
        services = {
            "arguments": self._opened.arguments,
            "folder": self.folder,
            "payer": self._payer,
            "asker": self._asker,
        }
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
