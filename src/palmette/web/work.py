"""What the page sets going: workers, one a run, and the endpoints of models that it asks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from palmette.engine.storage import LOCK, is_running
from palmette.errors import MachineError, RunError, UserError
from palmette.web.worker import Job

if TYPE_CHECKING:
    from palmette.automl.endpoint.service import Service

MOST_WORKERS = max(2, os.cpu_count() or 1)
KEPT_UP = 300.0  # seconds that an endpoint stays up after its last request


class Workers:
    """The processes that this server has started. They go on when it ends."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: set[str] = set()
        self.refused: dict[str, JsonValue] = {}
        """Why a run did not begin or go on, by its id."""

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
                [sys.executable, "-m", "palmette.web.worker", str(folder)],
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
