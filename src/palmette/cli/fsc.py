"""`palmette fsc`: specifications of scripts that exist already."""

from __future__ import annotations

from pathlib import Path

import click

from palmette.cli.screen import json_option, near, print_json
from palmette.documents import write_text
from palmette.errors import InputError, UserError

_FILE = click.Path(path_type=Path)


@click.group()
def fsc() -> None:
    """Work with feature specifications (FSC)."""


@fsc.command("from")
@click.argument("script", type=_FILE)
@click.option("--dfr", required=True, type=_FILE, help="The data frame registry; `palmette init` drafts one.")
@click.option("--entry", help="The function or Class.method that builds the features; found if omitted.")
@click.option("--to", "file", type=_FILE, help="File for the specification.  [default: SCRIPT's name with .yaml]")
@json_option
def from_script(script: Path, dfr: Path, entry: str | None, file: Path | None, as_json: bool) -> None:
    """Draft the specification that a PySpark feature SCRIPT follows, by reading it; nothing is run.

    What cannot be read is listed, never guessed. `palmette check` then holds script and specification to each other.
    """
    from palmette.features.adoption import draft_of
    from palmette.features.spec.resolve import load_view

    made = draft_of(script, dfr, entry)
    file = file or Path(f"{script.stem}.yaml")
    if file.exists():
        raise UserError(f"{near(file)!r} exists.", "Name another file: --to FILE", code="file-exists")
    write_text(file, made.text)
    problems = []
    try:
        load_view(file.resolve(), dfr.resolve())
    except InputError as error:
        problems = list(error.problems)
    if as_json:
        found = {"file": str(file), "entry": made.entry, "features": made.features}
        notes = [vars(note) for note in made.notes]
        print_json({**found, "not_read": notes, "problems": [vars(problem) for problem in problems]})
        return
    click.echo(f"Read {made.entry}() of {script.name}: {len(made.features)} features. Wrote {near(file)}.")
    for note in made.notes:
        click.echo(f"! Not read: {script.name}:{note.line}: {note.text}")
    for problem in problems:
        click.echo(f"! Correct {problem}")
    click.echo(f"\nNext: palmette check {script} --fsc {near(file)} --dfr {dfr}")
