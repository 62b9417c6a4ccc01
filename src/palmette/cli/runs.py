"""Commands for runs: `run` any topology file, `resume` a run, list the `runs`."""

import json
from pathlib import Path
from typing import Any

import click
from pydantic import JsonValue

from palmette import engine
from palmette.cli.automl import Names
from palmette.cli.progress import watching
from palmette.cli.screen import first_line, human_option, json_option, print_json, print_table
from palmette.cli.summary import present
from palmette.documents import read_text
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
@human_option("none")
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
    result = engine.run_environment("topology", arguments, engine.new_run_folder(topology.stem), watching(as_json))
    present(result, as_json)


def _given(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--given")
    path = Path(value[1:]) if value.startswith("@") else None
    text = read_text(path) if path else value
    if path and path.suffix != ".json":
        return name, text
    try:
        return name, json.loads(text)
    except ValueError as error:
        if path is None:
            return name, value
        what, line = f"The file is not JSON: {error}.", getattr(error, "lineno", None)
        raise InputError([Mistake("bad-json", what, "Mend it.", file=str(path), line=line)]) from error


@click.command()
@click.argument("run")
@click.option("--approve", type=Names(), default="", metavar="NAMES", help="Approve what the run waits for.")
@human_option("console")
@json_option
def resume(run: str, approve: tuple[str, ...], human: str, as_json: bool) -> None:
    """Continue RUN (an id, its beginning, a folder, or `latest`).

    Everything that depends on artefacts edited in the run folder is computed again; the rest is kept. A run that waits
    for an approval asks for it on the terminal; --approve NAME gives it in advance.
    """
    from palmette.automl.arguments import STAGES

    agreed = tuple(STAGES.get(name, name) for name in approve)
    folder = engine.find_run(run)
    asked = engine.human_of(human, folder)
    present(engine.resume_run(folder, watching(as_json, folder), human=asked, agreed=agreed), as_json)


@click.command()
@json_option
def runs(as_json: bool) -> None:
    """List the runs of this folder (or of $PALMETTE_RUNS), the newest first."""
    found = engine.list_runs()
    if as_json:
        names = ("id", "what", "status", "reason", "steps", "folder")
        facts = [{name: getattr(run, name) for name in names} for run in found]
        starts = (run.started.isoformat(timespec="seconds") for run in found)
        print_json({"runs": [{**one, "started": start} for one, start in zip(facts, starts, strict=True)]})
    elif not found:
        click.echo(f"There are no runs in {engine.runs_folder()}.")
    else:
        rows = [
            (run.id, run.what, run.status, f"{run.started:%Y-%m-%d %H:%M}", run.steps, first_line(run.reason))
            for run in found
        ]
        print_table(("id", "what", "status", "started", "steps", "reason"), rows)
