"""Output of commands: tables, times, paths and JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from palmette.documents import write_text
from palmette.engine import Measurement, Violation

Command = TypeVar("Command", bound=Callable[..., Any])
_MARKS: Mapping[str, str] = {"passed": "✓", "failed": "✗", "skipped": "–", "warning": "!"}

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
FILE = click.Path(path_type=Path)


def human_option(default: str | None, more: str = "") -> Callable[[Command], Command]:
    """The option that says where a run asks its questions."""
    text = f"Where to ask questions: here, on the page of `palmette web`, or nowhere.{more}"
    humans = click.Choice(["console", "web", "none"])
    return click.option("--human", type=humans, default=default, show_default=True, help=text)


def print_or_write(text: str, file: Path | None) -> None:
    """Prints an output, or writes it to the file that the user named and says so."""
    if file is None:
        click.echo(text, nl=False)
    else:
        write_text(file, text)
        click.echo(f"Wrote {file}.", err=True)


def shows_progress(as_json: bool) -> bool:
    """Whether a command reports progress on standard error: with `--json`, only to a person at a terminal."""
    return not as_json or sys.stderr.isatty()


def say(message: str, as_json: bool = False) -> None:
    """Prints a line of progress to standard error, where it is shown."""
    if shows_progress(as_json):
        click.echo(message, err=True)


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Left-aligned columns; the last one is not limited. No rows: no table."""
    texts = [list(header), *([" ".join(str(cell).split()) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(header) - 1)]
    for index, row in enumerate(texts if len(texts) > 1 else []):
        line = "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        click.echo(click.style(line, dim=index == 0))


def print_checks(measurements: Iterable[Measurement]) -> None:
    """One line per check: whether it passed, and what was measured."""
    rows = [
        (_MARKS[one.status], one.name, one.status, duration(one.seconds) if one.seconds else "", one.detail)
        for one in measurements
    ]
    print_table(("", "check", "status", "time", "what was measured"), rows)


def print_violation(violation: Violation, lines: int = 12) -> None:
    """A violation with the first lines of its evidence."""
    click.echo(f"\n{click.style(violation.code, bold=True)}: {violation.message}")
    for line in violation.evidence.rstrip().splitlines()[:lines]:
        click.secho(f"    {line}", dim=True)


def duration(seconds: float) -> str:
    """A duration in readable units.

    >>> duration(0.0123), duration(3.14), duration(75)
    ('12 ms', '3.1 s', '1 min 15 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def first_line(text: str, width: int = 160) -> str:
    """The first line of a text, cut to a width."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def near(path: Path) -> str:
    """A path relative to the current folder, if that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
