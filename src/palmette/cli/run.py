"""`palmette run`: runs any topology file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from pydantic import JsonValue

from palmette.cli.progress import watching
from palmette.cli.screen import json_option
from palmette.cli.summary import present
from palmette.documents import read_text
from palmette.engine import new_run_folder, run_environment
from palmette.errors import InputError, Mistake


@click.command()
@click.argument("topology", type=click.Path(path_type=Path))
@click.option(
    "--given",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A given artefact: JSON, text, or @FILE (.json is read as JSON, anything else as text).",
)
@click.option(
    "--planner",
    metavar="NAME",
    help="Registered name, or `package.module:Class`; by default `model` with a language model, else `offline`.",
)
@click.option(
    "--human",
    type=click.Choice(["console", "web", "none"]),
    default="none",
    show_default=True,
    help="Where to ask questions: here, on the page of `palmette web`, or nowhere.",
)
@click.option(
    "--model", default="offline", show_default=True, metavar="PROVIDER:NAME", help="Language model for the agents."
)
@click.option("--tokens", type=click.IntRange(min=1), help="Token limit for the language model.")
@click.option("--money", type=click.FloatRange(min=0), help="Cost limit for the language model, in US dollars.")
@click.option("--seed", default=0, show_default=True)
@json_option
def run(topology: Path, given: tuple[str, ...], as_json: bool, **options: JsonValue) -> None:
    """Run the TOPOLOGY file with its given artefacts."""
    values = [_given(pair) for pair in given]
    names = [name for name, _ in values]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise click.BadParameter(f"{', '.join(twice)} is given more than once", param_hint="--given")
    arguments: dict[str, JsonValue] = {"topology": str(topology.absolute()), "given": dict(values), **options}
    result = run_environment("topology", arguments, new_run_folder(topology.stem), watching(as_json))
    present(result, as_json)


def _given(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--given")
    if not value.startswith("@"):
        try:
            return name, json.loads(value)
        except ValueError:
            return name, value
    path = Path(value[1:])
    text = read_text(path)
    if path.suffix != ".json":
        return name, text
    try:
        return name, json.loads(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError(
            [Mistake("bad-json", f"The file is not JSON: {error}.", "Mend it.", file=str(path), line=line)]
        ) from error
