"""`palmette features`: one feature view, from its run file to a pull request."""

from __future__ import annotations

import os
from pathlib import Path

import click
from pydantic import JsonValue

from palmette.cli.progress import watching
from palmette.cli.screen import json_option
from palmette.cli.summary import present


@click.command()
@click.argument("run_file", type=click.Path(path_type=Path))
@click.option(
    "--planner", type=click.Choice(["offline", "model", "sequential", "random"]), help="Instead of the run file's."
)
@click.option("--human", type=click.Choice(["console", "none"]), help="Whom to ask; instead of the run file's.")
@click.option("--model", metavar="PROVIDER:NAME", help="Who answers the agents' tasks; instead of the run file's.")
@click.option("--seed", type=int, help="Instead of the run file's.")
@json_option
def features(
    run_file: Path, planner: str | None, human: str | None, model: str | None, seed: int | None, as_json: bool
) -> None:
    """Build a feature view: RUN_FILE names its specification, the registry and the team's repository.

    Ends with a pull request on a branch of the repository and a screen that says what was checked.
    """
    from palmette.engine import ConsoleHuman, NoHuman, new_run_folder, run_environment
    from palmette.features.questions import answered

    run_file = Path(os.path.realpath(run_file))
    answers = answered(run_file, NoHuman() if human == "none" else ConsoleHuman(), model)
    arguments: dict[str, JsonValue] = {
        "run_file": str(run_file),
        "answers": dict(answers),
        "planner": planner,
        "human": human,
        "model": model,
        "seed": seed,
    }
    present(run_environment("features", arguments, new_run_folder(run_file.stem), watching(as_json)), as_json)
