"""Live progress of a run: one line per event, and the current activity on a terminal."""

import sys
import time
from pathlib import Path

import click

from palmette.automl.live import task_of
from palmette.cli.screen import first_line, shows_progress
from palmette.cli.summary import print_task
from palmette.cli.terminal import ERASE_LINE
from palmette.engine import Entry, Observer
from palmette.engine import events as e


class Progress(Observer):
    """Prints to standard error, so that standard output stays for results."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: the run's, for artefacts that are shown once they exist."""
        self._folder = folder
        self._live = sys.stderr.isatty()
        self._started = time.monotonic()

    def opened(self, about: str) -> None:
        if about:
            self._clear()
            click.echo(about, err=True)

    def event(self, entry: Entry) -> None:
        line = _line(entry.event)
        if line:
            self._clear()
            click.echo(f"{time.monotonic() - self._started:6.1f} s  {line}", err=True)
        print_task(task_of(entry.event, self._folder), err=True)

    def progress(self, actor: str, message: str) -> None:
        if self._live:
            self._clear()
            click.secho(f"          {actor}: {message}"[:110], dim=True, nl=False, err=True)

    def _clear(self) -> None:
        if self._live:
            click.echo(ERASE_LINE, nl=False, err=True)


def watching(as_json: bool, folder: Path | None = None) -> Observer:
    """The observer of a command; with the run's folder, it shows the interpretation of a request before training."""
    return Progress(folder) if shows_progress(as_json) else Observer()


def _line(event: e.Event) -> str:
    match event:
        case e.Decided() if event.instruction:
            lines = event.instruction.splitlines()
            more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
            return f"↩ {event.target}: {first_line(event.instruction)}{more}"
        case e.AttemptFailed():
            codes = ", ".join(dict.fromkeys(violation.code for violation in event.violations)) or "no output"
            return f"{click.style('✗', fg='red')} {event.actor} attempt {event.number}: {codes}"
        case e.ActorSucceeded():
            return f"{click.style('✓', fg='green')} {event.actor} ({event.seconds:.1f} s)"
        case e.ActorReused():
            return f"= {event.actor} (unchanged)"
        case e.ActorUndone():
            return f"gone: what {event.actor} had made; it is made again"
        case e.CallFailed() if event.code == e.LOST:
            return f"cut off in a call as {event.role or event.actor}: it may have been paid for, and is asked again"
        case e.BudgetReached():
            return f"budget reached: {event.limit}"
        case e.ArtefactEdited():
            return f"edited: {event.artefact} (by {event.by})"
        case _:
            return ""
