"""`palmette check`: the checks alone, on any feature script."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from palmette.cli.screen import json_option, print_checks, print_json, print_violation
from palmette.documents import read_text
from palmette.engine import ConsoleHuman, Verdict, pay_unrecorded
from palmette.errors import InputError, UserError, did_you_mean
from palmette.features.checks import Check, Subject, registered, run_checks
from palmette.features.checks.entry import find_entry
from palmette.features.definitions import definition
from palmette.features.spec.view import View
from palmette.sandbox.temporary import temporary_folder

_FILE = click.Path(path_type=Path)
_SHOWN = 20
"""Most violations that are printed; `--json` has all."""


@click.command()
@click.argument("script", type=_FILE)
@click.option("--fsc", required=True, type=_FILE, help="The feature specification.")
@click.option("--dfr", required=True, type=_FILE, help="The data frame registry.")
@click.option("--entry", help="The function that builds the features; found by its parameters when left out.")
@click.option(
    "--model",
    default="offline",
    show_default=True,
    metavar="PROVIDER:NAME",
    help="Who reads words in the specification that the built-in rules do not understand.",
)
@click.option("--tests", type=_FILE, help="A pytest file for the script: must pass and kill mutants.")
@click.option(
    "--root",
    type=_FILE,
    help="Folder that the script's package is imported from; the script's own when left out.",
)
@click.option("--only", multiple=True, metavar="CHECK", help="Run only this check; may be repeated.")
@click.option("--skip", multiple=True, metavar="CHECK", help="Leave this check out; may be repeated.")
@json_option
def check(  # noqa: PLR0913 - one parameter per option
    script: Path,
    fsc: Path,
    dfr: Path,
    entry: str | None,
    model: str,
    tests: Path | None,
    root: Path | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the feature script SCRIPT against its specification, by running it.

    What words in the specification are read as is printed, too. Exit status 0 when every check that ran passed, 1 when
    one failed.
    """
    from palmette.features.harness.connect import ConnectHarness
    from palmette.sandbox import WarmSpark

    source = read_text(script)
    if tests:
        read_text(tests)  # what is wrong with it is said before anything starts
    view = view_of(fsc, dfr, model)
    chosen = choose(registered(), only, skip)
    name = find_entry(source, view.tables, name=entry, file=script.name)
    folder = _folder(root or script.parent)
    with WarmSpark() as spark:
        subject = Subject(
            view=view,
            script=script.resolve(),
            root=folder,
            entry=name,
            harness=ConnectHarness(spark),
            tests=tests.resolve() if tests else None,
            python_path=(script.parent.resolve(),),
        )
        verdict = run_checks(subject, chosen, progress=lambda message: click.echo(message, err=True))
    if as_json:
        print_json({"script": str(script), "entry": name, "words": words_of(view), **verdict.model_dump()})
    else:
        print_words(view)
        print_verdict(f"{script.name}: {name}() builds {view.name}", verdict)
    sys.exit(0 if verdict.ok else 1)


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise UserError(f"{str(path)!r} is not a folder.", "Give the folder of the package.", code="no-such-folder")
    return path.resolve()


def view_of(fsc: Path, dfr: Path, model: str) -> View:
    """The view; words that neither the rules nor the model can read are mistakes."""
    from palmette.features.questions import only_questions, understood_view
    from palmette.llm.opening import WORDS, ModelChoice, open_models

    with temporary_folder() as folder:
        reader = open_models(ModelChoice(model=model), folder).of(WORDS)
        try:
            return understood_view(fsc, dfr, reader, ConsoleHuman(), pay_unrecorded)
        except InputError as error:
            if reader is None and only_questions(error):
                click.echo("The rules cannot read all words; --model PROVIDER:NAME lets a model read them.", err=True)
            raise


def words_of(view: View) -> dict[str, str]:
    """What words are read as, by feature; features that only a reading has brought are among them."""
    written = {feature.name for feature in view.spec.features}
    read = [one for one in view.features if one.words or (one.internal and one.name not in written)]
    return {one.name: definition(one, view) for one in read}


def print_words(view: View) -> None:
    """A line for each feature in words: the script is held to this reading of them."""
    for name, meaning in words_of(view).items():
        click.echo(f"{name} is read as: {meaning}")


def choose(checks: Sequence[Check], only: Sequence[str], skip: Sequence[str]) -> list[Check]:
    """The checks that are asked for; UserError for a name that no check has, and where none is left."""
    known = [check.code for check in checks]
    for name in (*only, *skip):
        if name not in known:
            raise UserError(
                f"There is no check {name!r}.{did_you_mean(name, known)}",
                f"The checks are {', '.join(known)}.",
                code="no-such-check",
            )
    chosen = [check for check in checks if (not only or check.code in only) and check.code not in skip]
    if not chosen:
        raise UserError("No check is left to run.", "Leave out --skip, or name others.", code="no-check")
    return chosen


def print_verdict(title: str, verdict: Verdict) -> None:
    """A line per check, then what was found, then the outcome."""
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
