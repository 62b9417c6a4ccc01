"""`palmette schema`: the JSON Schemas of the file formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from palmette.documents import write_text
from palmette.features.spec.schemas import FORMATS, PUBLISHED, schema_of

TASK = "task"


@click.command("schema")
@click.argument("name", metavar="FORMAT", type=click.Choice([*FORMATS, TASK]))
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file instead.")
def schema(name: str, output: Path | None) -> None:
    """Print the JSON Schema of FORMAT: fsc, dfr, run or task.

    Editors use it to complete and check files as they are written.
    """
    text = json.dumps(any_schema(name), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
    else:
        write_text(output, f"{text}\n")
        click.echo(f"Wrote {output}.", err=True)


def any_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a format, the task file among them."""
    if name != TASK:
        return schema_of(name)
    from palmette.automl.task_spec.task_file import TaskFile

    schema = TaskFile.model_json_schema()
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "$id": f"{PUBLISHED}:{TASK}", **schema, "title": "Task"}
