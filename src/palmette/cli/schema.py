"""`palmette schema`: the JSON Schemas of the file formats."""

from __future__ import annotations

import json
from pathlib import Path

import click

from palmette.documents import write_text
from palmette.features.spec.schemas import FORMATS, schema_of


@click.command("schema")
@click.argument("name", metavar="FORMAT", type=click.Choice(list(FORMATS)))
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file instead.")
def schema(name: str, output: Path | None) -> None:
    """Print the JSON Schema of FORMAT: fsc, dfr or run.

    Editors use it to complete and check files as they are written.
    """
    text = json.dumps(schema_of(name), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
    else:
        write_text(output, f"{text}\n")
        click.echo(f"Wrote {output}.", err=True)
