"""What commands print: tables, and the screen at the end of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from palmette.engine import RunResult
from palmette.errors import RunStopped

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Left-aligned columns; the last one may be as long as it likes."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(header), *texts]) for column in range(len(header))]
    widths[-1] = 0
    for index, row in enumerate([list(header), *texts]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.echo(click.style(line, dim=index == 0))


def duration(seconds: float) -> str:
    """A time as a person says it.

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
    """A path as seen from here, where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


def result_json(result: RunResult) -> dict[str, object]:
    """A run's outcome for programs."""
    return {
        "run": result.folder.name,
        "folder": str(result.folder),
        "status": result.status,
        "reason": result.reason,
        "steps": result.state.decisions,
        "seconds": round(result.state.spent.seconds, 3),
        "artefacts": {name: str(result.path(name)) for name in result.state.artefacts},
    }


def exit_status(result: RunResult) -> int:
    """0, or the status of a run that was stopped."""
    return 0 if result.status == "finished" else RunStopped.exit_code


def print_result(result: RunResult) -> None:
    """The last screen of a run: what was made, how long it took, where it lies, what is next."""
    state = result.state
    click.echo(
        f"\n{click.style(result.status.upper(), bold=True)} after {state.decisions} steps, "
        f"{duration(state.spent.seconds)}. {result.reason}".rstrip()
    )
    made = [
        (name, f"v{version.number}", f"by {version.by}", near(result.path(name)))
        for name, version in state.artefacts.items()
    ]
    if made:
        print_table(("artefact", "version", "made", "where"), made)
    name = result.folder.name
    click.echo(f"\nEvery step: palmette show {name}")
    go_on = "To change something, edit an artefact there and" if result.status == "finished" else "To go on,"
    click.echo(f"{go_on}: palmette resume {name}")
