"""What commands print: tables, times, paths and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

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
