"""`palmette features`: one feature view, from its run file to a pull request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from palmette.cli.progress import watching
from palmette.cli.screen import human_option, json_option, print_json, print_table
from palmette.cli.summary import present

if TYPE_CHECKING:
    from palmette.features.build_plan import BuildPlan

_MARKS = {"new": "+", "changed": "~", "unchanged": "", "removed": "-", "unknown": "?"}


@click.command()
@click.argument("run_file", type=click.Path(path_type=Path))
@click.option("--planner", metavar="NAME", help="Name of a planner, or module:Class; overrides the run file.")
@human_option(None, " Overrides the run file.")
@click.option("--model", metavar="PROVIDER:NAME", help="Language model for the agents; overrides the run file.")
@click.option("--plan", "only_plan", is_flag=True, help="Only show what would be built, read and written.")
@click.option("--seed", type=int, help="Random seed; overrides the run file.")
@json_option
def features(run_file: Path, only_plan: bool, as_json: bool, **options: Any) -> None:
    """Build a feature view: RUN_FILE names its specification, the registry and the team's repository.

    Ends with a pull request on a branch of the repository and a screen that lists what was checked.
    """
    from palmette.engine import ConsoleHuman, NoHuman, new_run_folder, run_environment
    from palmette.features.build_plan import build_plan
    from palmette.features.questions import answered

    run_file = Path(os.path.realpath(run_file))
    silent = only_plan or options["human"] in ("none", "web")
    answers = answered(run_file, NoHuman() if silent else ConsoleHuman(), options["model"])
    if only_plan:
        _show(build_plan(run_file, answers), as_json)
        return
    arguments = {"run_file": str(run_file), "answers": dict(answers), **options}
    present(run_environment("features", arguments, new_run_folder(run_file.stem), watching(as_json)), as_json)


def _show(plan: BuildPlan, as_json: bool) -> None:
    if as_json:
        print_json({**plan.model_dump(mode="json"), "backfill": plan.backfill})
        return
    click.secho(f"{plan.view}: a row per {', '.join(plan.grain)}; cut-off: {plan.cutoff}\n", bold=True)
    print_table(("", "feature", "type", "definition"), [
        (_MARKS[one.state], one.name, one.dtype, one.definition) for one in plan.features
    ])  # fmt: skip
    click.echo()
    print_table(("reads", "columns"), [(name, ", ".join(columns)) for name, columns in plan.reads.items()])
    click.echo()
    print_table(("writes", ""), [*plan.files.items(), (plan.output, "data")])
    for departure in plan.departures:
        click.echo(f"! {departure}")
    if any(one.state == "unknown" for one in plan.features):
        click.echo("? The specification that was merged is not in git, so changes of features are not known.")
    if plan.backfill:
        click.echo("Backfill needed: earlier output lacks features or has others under their names.")
