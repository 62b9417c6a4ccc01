"""`palmette check`: the checks alone, on any feature script."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from palmette.cli.screen import json_option, print_checks, print_json, print_violation
from palmette.documents import read_text
from palmette.engine import Verdict
from palmette.errors import InputError

_FILE = click.Path(path_type=Path)
_SHOWN = 20
"""Maximum violations printed; `--json` has all."""


@click.command()
@click.argument("script", type=_FILE)
@click.option("--fsc", required=True, type=_FILE, help="The feature specification.")
@click.option("--dfr", required=True, type=_FILE, help="The data frame registry.")
@click.option("--entry", help="The function that builds the features; found by its parameters if omitted.")
@click.option(
    "--model",
    default="offline",
    show_default=True,
    metavar="PROVIDER:NAME",
    help="Language model for words in the specification that the built-in rules cannot read.",
)
@click.option("--tests", type=_FILE, help="A pytest file for the script: must pass and kill mutants.")
@click.option(
    "--root",
    type=_FILE,
    help="The repository; the folder above the script with .git or a Python project's settings if omitted.",
)
@click.option("--quick", is_flag=True, help="Only what needs no rows: static rules, the author's tests, the plan.")
@click.option("--only", multiple=True, metavar="CHECK", help="Run only this check; may be repeated.")
@click.option("--skip", multiple=True, metavar="CHECK", help="Skip this check; may be repeated.")
@json_option
def check(  # noqa: PLR0913 - one parameter per option
    script: Path,
    fsc: Path,
    dfr: Path,
    entry: str | None,
    model: str,
    tests: Path | None,
    root: Path | None,
    quick: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the feature script SCRIPT against its specification, by running it.

    Prints how words in the specification were read. Exit status 0 when every check that ran passed, 1 when one failed.
    """
    from palmette.features.questions import only_questions
    from palmette.features.script_check import FeatureScript, check_script, chosen_checks, view_of

    read_text(script)  # to report its mistakes first
    try:
        view = view_of(fsc, dfr, model)
    except InputError as error:
        if model == "offline" and only_questions(error):
            click.echo("The rules cannot read all words; --model PROVIDER:NAME lets a model read them.", err=True)
        raise
    checked = check_script(
        FeatureScript(script, entry, root, tests),
        view,
        chosen_checks(quick, only, skip),
        progress=lambda message: click.echo(message, err=True),
    )
    verdict = checked.verdict
    if as_json:
        print_json({"script": str(script), "entry": checked.entry, "words": checked.words, **verdict.model_dump()})
    else:
        for name, meaning in checked.words.items():
            click.echo(f"{name} is read as: {meaning}")
        print_verdict(f"{script.name}: {checked.entry}() builds {view.name}", verdict)
    sys.exit(0 if verdict.ok else 1)


def print_verdict(title: str, verdict: Verdict) -> None:
    """Prints a line per check, the violations, and the outcome."""
    click.secho(f"\n{title}\n", bold=True)
    print_checks(verdict.measurements)
    for violation in verdict.violations[:_SHOWN]:
        print_violation(violation)
    if len(verdict.violations) > _SHOWN:
        click.echo(f"\n... and {len(verdict.violations) - _SHOWN} more; --json prints all.")
    skipped = [item.name for item in verdict.measurements if item.status == "skipped"]
    left = f" Not checked: {', '.join(skipped)}." if skipped else ""
    click.echo()
    if verdict.ok:
        click.echo(click.style("Every check that ran passed.", fg="green") + left)
    else:
        click.echo(click.style(f"{len(verdict.violations)} found.", fg="red") + left)
