"""What the page sets going: workers, one a run, and the endpoints of models that it asks.

A worker is a process of its own: `python -m palmette.web.work FOLDER`, with a job as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, JsonValue

from palmette.documents import Model
from palmette.engine import Observer, human_of, resume_run, run_environment
from palmette.engine.storage import LOCK, is_running, write_whole
from palmette.errors import MachineError, PalmetteError, RunError, UserError
from palmette.llm.secrets import error_json

if TYPE_CHECKING:
    from palmette.automl.endpoint.service import Service

PROGRESS = "progress.json"  # in the run's folder: what is happening now, which is not an event
OFTEN = 0.25  # seconds between two messages that are written


class Job(Model):
    """What to do with the run."""

    environment: str = ""
    """Empty to resume."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    agreed: tuple[str, ...] = ()
    """Actors that a person agreed to."""


class _WorkerProgress(Observer):
    """Keeps the latest message where the page finds it."""

    def __init__(self, folder: Path) -> None:
        self._path, self._written = folder / PROGRESS, 0.0

    def progress(self, actor: str, message: str) -> None:
        now = time.monotonic()
        if now - self._written < OFTEN:
            return
        self._written = now
        with suppress(OSError):
            latest = {"actor": actor, "message": message[:300], "at": time.time()}
            write_whole(self._path, json.dumps(latest).encode())


def main() -> None:
    warnings.simplefilter("ignore")
    folder, job = Path(sys.argv[1]), Job.model_validate_json(sys.stdin.read())
    reply = os.dup(1)
    os.dup2(2, 1)  # what actors and libraries print is no reply
    try:
        if job.environment:
            run_environment(job.environment, job.arguments, folder, _WorkerProgress(folder))
        else:
            resume_run(folder, _WorkerProgress(folder), human=human_of("web", folder), agreed=job.agreed)
    except PalmetteError as error:
        found = error
    except KeyboardInterrupt:
        return
    except Exception as error:  # noqa: BLE001 - the process boundary to the page, which shows it
        found = RunError(f"palmette itself failed: {type(error).__name__}: {error}", code="bug")
    else:
        return
    with suppress(OSError):  # the page's server has gone meanwhile
        os.write(reply, json.dumps(error_json(found)).encode())


MOST_WORKERS = max(2, os.cpu_count() or 1)
KEPT_UP = 300.0  # seconds that an endpoint stays up after its last request


class Workers:
    """The processes that this server has started. They go on when it ends."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: set[str] = set()
        self.refused: dict[str, JsonValue] = {}  # why a run did not begin or go on, by its id

    def start(self, folder: Path, job: Job) -> None:
        """Starts a process for a run; RunError if it is worked on already, or too many are."""
        with self._guard:
            alive = self._running
            if folder.name in alive or is_running(folder):
                raise RunError(f"The run {folder.name!r} is being worked on.", "Wait for it.", code="run-in-use")
            if len(alive) >= MOST_WORKERS:
                message = f"{len(alive)} runs are being worked on, as many as this machine has processors."
                raise RunError(message, "Wait for one of them, or stop it.", code="too-many-runs")
            self.refused.pop(folder.name, None)
            process = subprocess.Popen(
                [sys.executable, "-m", "palmette.web.work", str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._running.add(folder.name)
        threading.Thread(target=self._wait, args=(folder.name, process, job), daemon=True).start()

    def _wait(self, id: str, process: subprocess.Popen[bytes], job: Job) -> None:
        output, _ = process.communicate(job.model_dump_json().encode())
        if output:
            self.refused[id] = json.loads(output)
        elif process.returncode < 0:
            message = f"The process of the run was killed by signal {-process.returncode}."
            self.refused[id] = {"code": "killed", "message": message, "remedy": "Resume it.", "problems": []}
        self._running.discard(id)

    def is_starting(self, id: str) -> bool:
        """Whether a process of this server works on the run."""
        return id in self._running

    def stop(self, folder: Path) -> None:
        """Interrupts the process of a run, also one that the page did not start."""
        if not is_running(folder):
            raise RunError(f"Nobody works on the run {folder.name!r}.", "Reload the page.", code="not-running")
        os.kill(int((folder / LOCK).read_text("ascii")), signal.SIGINT)


class Endpoints:
    """Endpoints of delivered models in the sandbox; each stops some minutes after it was last asked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._up: dict[Path, Service] = {}
        self._asked: dict[Path, float] = {}

    def predict(self, folder: Path, row: dict[str, JsonValue]) -> Any:
        """The answer of a delivered package to one row.

        Raises:
            UserError: it refuses the row.
            MachineError: it does not answer.
        """
        with self._guard:  # one question at a time: a service has one connection
            for idle in [one for one, asked in self._asked.items() if time.monotonic() - asked > KEPT_UP]:
                self._up.pop(idle).stop()
                del self._asked[idle]
            reply = self._service(folder).call("POST", "/predict", row)
            self._asked[folder] = time.monotonic()
        if reply.status >= 400:
            raise UserError(f"The model refuses the row: {reply.text[:500]}", "Correct it.", code="rows-refused")
        return reply.data()

    def _service(self, folder: Path) -> Service:
        from palmette.automl.endpoint.service import Service
        from palmette.sandbox import Sandbox

        known = self._up.get(folder)
        if known and known.alive:
            return known
        service = Service(Sandbox(), folder)
        if not service.is_healthy():
            output = service.output()[-500:]
            service.stop()
            raise MachineError(f"The endpoint does not start: {output}", "See `palmette serve`.", code="no-endpoint")
        self._up[folder] = service
        return service

    def close(self) -> None:
        for service in self._up.values():
            service.stop()
        self._up.clear()


if __name__ == "__main__":
    main()
