"""Progress of a run for the Python API: lines in a terminal, an updated block in a notebook."""

import importlib
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from palmette.engine import ArtefactStore, Entry, Observer
from palmette.engine import events as e

KEPT = 40  # most lines shown in a notebook


def task_of(event: e.Event, folder: Path | None) -> JsonValue:
    """The interpreted request, if this event delivers it; else None."""
    match event:
        case e.ActorSucceeded(actor="requirement_parser", artefact="task", output=digest) if folder:
            return ArtefactStore(folder).get(digest)
        case _:
            return None


class LiveProgress(Observer):
    """Shows the interpreted request and finished actors; silent outside terminals and notebooks."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lines, self._started = folder, list[str](), time.monotonic()
        python, self._block = sys.modules.get("IPython"), None
        if python is not None and type(python.get_ipython()).__name__ == "ZMQInteractiveShell":
            display: Any = importlib.import_module("IPython.display").display
            self._block = display({"text/plain": ""}, raw=True, display_id=True)  # that can be updated
        self._is_terminal = self._block is None and sys.stderr.isatty()

    def opened(self, about: str) -> None:
        self._add(*about.splitlines())

    def event(self, entry: Entry) -> None:
        seconds = f"{time.monotonic() - self._started:6.1f} s"
        match entry.event:
            case e.ActorSucceeded(actor=actor):
                self._add(f"{seconds}  ✓ {actor}")
            case e.AttemptFailed(actor=actor, violations=violations):
                self._add(f"{seconds}  ✗ {actor}: {', '.join(one.code for one in violations)}")
        if task := task_of(entry.event, self._folder):
            from palmette.automl.report.interpretation import interpretation_lines
            from palmette.automl.task_spec.spec import TaskSpec

            self._add(*(f"{'':10}{line}" for line in interpretation_lines(TaskSpec.model_validate(task))))

    def progress(self, actor: str, message: str) -> None:
        self._show(f"{'':10}{actor}: {message}"[:110])

    def _add(self, *lines: str) -> None:
        self._lines.extend(lines)
        if self._is_terminal:
            sys.stderr.write("".join(f"\r\x1b[2K{line}\n" for line in lines))
            sys.stderr.flush()
        self._show("")

    def _show(self, current: str) -> None:
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[2K{current}")
            sys.stderr.flush()
        elif self._block is not None:
            self._block.update({"text/plain": "\n".join([*self._lines[-KEPT:], current])}, raw=True)
