"""A process that works on one run for the web page: `python -m palmette.web.worker FOLDER`, with a job as JSON."""

import json
import os
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

from pydantic import Field, JsonValue

from palmette.documents import Model, write_text
from palmette.engine import Observer, human_of, resume_run, run_environment
from palmette.errors import PalmetteError, RunError
from palmette.llm.secrets import error_json

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
            draft = self._path.with_suffix(".draft")
            write_text(draft, json.dumps({"actor": actor, "message": message[:300], "at": time.time()}))
            draft.replace(self._path)


def work(folder: Path, job: Job) -> None:
    if job.environment:
        run_environment(job.environment, job.arguments, folder, _WorkerProgress(folder))
    else:
        resume_run(folder, _WorkerProgress(folder), human=human_of("web", folder), agreed=job.agreed)


def main() -> None:
    warnings.simplefilter("ignore")
    folder, job = Path(sys.argv[1]), Job.model_validate_json(sys.stdin.read())
    try:
        work(folder, job)
    except PalmetteError as error:
        found = error
    except KeyboardInterrupt:
        return
    except Exception as error:  # noqa: BLE001 - the process boundary to the page, which shows it
        found = RunError(f"palmette itself failed: {type(error).__name__}: {error}", code="bug")
    else:
        return
    with suppress(OSError):  # the page's server has gone meanwhile
        os.write(1, json.dumps(error_json(found)).encode())


if __name__ == "__main__":
    main()
