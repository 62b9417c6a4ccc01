"""`palmette memory`: what earlier runs left."""

from __future__ import annotations

from pathlib import Path

import click

from palmette.cli.screen import clean, print_json, print_table
from palmette.documents import read_text, write_text
from palmette.errors import UserError
from palmette.knowledge import memory as runs


@click.group()
def memory() -> None:
    """Show, forget, export or import what finished runs left.

    The file is memory.sqlite in the folder of runs, or $PALMETTE_MEMORY; `off` turns it off. It holds figures of
    tables, candidates with scores, and failures; names of columns and quoted texts only with PALMETTE_MEMORY_TEXTS=1.
    """


def _opened() -> runs.Memory:
    known = runs.open_memory()
    if known is None:
        raise UserError("The memory is off.", f"Unset {runs.VARIABLE}.", code="memory-off")
    return known


@memory.command(name="list")
def list_() -> None:
    """List the runs, newest first."""
    rows = [
        (one.run, one.environment, one.problem, f"{one.figures.get('rows', 0):,.0f}", _best(one), str(len(one.mended)))
        for one in _opened().all()
    ]
    print_table(("run", "environment", "problem", "rows", "best", "mended"), rows)


def _best(one: runs.RunMemory) -> str:
    return f"{one.candidates[0].candidate.learner} {one.candidates[0].score:.4g}" if one.candidates else ""


@memory.command()
@click.argument("run")
def show(run: str) -> None:
    """Print all that is kept of a run, as JSON."""
    print_json(_opened().get(run).model_dump(mode="json"))


@memory.command()
@click.argument("run")
def forget(run: str) -> None:
    """Delete a run from the memory."""
    _opened().forget(run)


@memory.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(file: Path) -> None:
    """Write all runs to a file of JSON lines."""
    write_text(file, runs.exported(_opened()))
    click.echo(clean(f"Wrote {file}."))


@memory.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def import_(file: Path) -> None:
    """Add the runs of an exported file."""
    click.echo(f"Added {runs.imported(_opened(), read_text(file), str(file))} runs.")
