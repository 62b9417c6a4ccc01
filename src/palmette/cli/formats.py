"""Commands for file formats: `schema` prints their JSON Schemas, `topology` checks and draws topology files."""

import json
from pathlib import Path
from typing import Any

import click

from palmette.cli.screen import FILE, json_option, print_json, print_or_write
from palmette.engine import check_topology, draw, load_topology
from palmette.engine.drawing import Form
from palmette.features.spec.run import FORMATS, PUBLISHED, schema_of

TASK = "task"


@click.command("schema")
@click.argument("name", metavar="FORMAT", type=click.Choice([*FORMATS, TASK]))
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file instead.")
def schema(name: str, output: Path | None) -> None:
    """Print the JSON Schema of FORMAT: fsc, dfr, run or task.

    Editors use it to complete and check files as they are written.
    """
    print_or_write(json.dumps(any_schema(name), indent=2, ensure_ascii=False) + "\n", output)


def any_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a format, the task file among them."""
    if name != TASK:
        return schema_of(name)
    from palmette.automl.task_spec.task_file import TaskFile

    schema = TaskFile.model_json_schema()
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "$id": f"{PUBLISHED}:{TASK}", **schema, "title": "Task"}


def _located(file: Path) -> Path:
    """The file, or a built-in topology by name."""
    package = Path(__file__).parents[1]
    named = package / ("features/topology.yaml" if str(file) == "features" else f"automl/topologies/{file}.yaml")
    return named if not file.exists() and len(file.parts) == 1 and named.is_file() else file


@click.group()
def topology() -> None:
    """Check or draw a topology file."""


@topology.command(short_help="Report every mistake in a topology.")
@click.argument("file", type=FILE)
@json_option
def check(file: Path, as_json: bool) -> None:
    """Report every mistake in the topology FILE, which may be the name of a built-in one such as `automl`."""
    document = load_topology(_located(file))
    check_topology(document)
    found = document.value
    if as_json:
        print_json({"topology": found.topology, "ok": True, "actors": list(found.actors)})
    else:
        edges = sum(len(node.next) for node in found.actors.values())
        click.echo(f"{found.topology}: {len(found.actors)} actors, {edges} transitions, can be run.")


@topology.command(name="draw")
@click.argument("file", type=FILE)
@click.option("--format", "form", type=click.Choice(["mermaid", "svg"]), default="mermaid", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write here instead of printing.")
def draw_command(file: Path, form: Form, output: Path | None) -> None:
    """Draw the topology FILE, which may be the name of a built-in one such as `automl`."""
    print_or_write(draw(load_topology(_located(file)), form), output)
