"""`palmette check`: the checks alone, on any feature script."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from palmette.cli.screen import duration, json_option, print_json, print_table
from palmette.engine.actor import Verdict, Violation
from palmette.errors import UserError, nearest
from palmette.features.checks import Check, Subject, registered, run_checks
from palmette.features.checks.entry import find_entry

_FILE = click.Path(path_type=Path)
_MARKS = {"passed": "✓", "failed": "✗", "skipped": "–", "warning": "!"}
_SHOWN = 20
"""Most violations that are printed; `--json` has all."""


@click.command()
@click.argument("script", type=_FILE)
@click.option("--fsc", required=True, type=_FILE, help="The feature specification.")
@click.option("--dfr", required=True, type=_FILE, help="The data frame registry.")
@click.option("--entry", help="The function that builds the features; found by its parameters when left out.")
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
    tests: Path | None,
    root: Path | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the feature script SCRIPT against its specification, by running it.

    Exit status 0 when every check that ran passed, 1 when one failed.
    """
    from palmette.features.harness.connect import ConnectHarness
    from palmette.features.spec.resolve import load_view
    from palmette.sandbox import Sandbox, WarmSpark

    for file in (script, *([tests] if tests else [])):
        if not file.is_file():
            raise UserError(f"{str(file)!r} is not a file.", "Give the path of a Python file.", code="no-such-file")
    if root and not root.is_dir():
        raise UserError(f"{str(root)!r} is not a folder.", "Give the folder of the package.", code="no-such-folder")
    view = load_view(fsc, dfr)
    chosen = choose(registered(), only, skip)
    name = find_entry(script.read_text(encoding="utf-8"), view.tables, name=entry, file=script.name)
    folder = (root or script.parent).resolve()
    sandbox = Sandbox()
    with WarmSpark(sandbox) as spark:
        subject = Subject(
            view=view,
            script=script.resolve(),
            root=folder,
            entry=name,
            harness=ConnectHarness(sandbox, spark),
            tests=tests.resolve() if tests else None,
            python_path=(script.parent.resolve(),),
        )
        verdict = run_checks(subject, chosen, progress=lambda message: click.echo(message, err=True))
    if as_json:
        print_json({"script": str(script), "entry": name, **verdict.model_dump()})
    else:
        print_verdict(f"{script.name}: {name}() builds {view.name}", verdict)
    sys.exit(0 if verdict.ok else 1)


def choose(checks: Sequence[Check], only: Sequence[str], skip: Sequence[str]) -> list[Check]:
    """The checks that are asked for; UserError for a name that no check has."""
    known = [check.code for check in checks]
    for name in (*only, *skip):
        if name not in known:
            hint = nearest(name, known)
            raise UserError(
                f"There is no check {name!r}.{f' Did you mean {hint!r}?' if hint else ''}",
                f"The checks are {', '.join(known)}.",
                code="no-such-check",
            )
    return [check for check in checks if (not only or check.code in only) and check.code not in skip]


def print_verdict(title: str, verdict: Verdict) -> None:
    """A line per check, then what was found, then the outcome."""
    click.secho(f"\n{title}\n", bold=True)
    rows = []
    for item in verdict.measurements:
        rows.append((_MARKS[item.status], item.name, item.status, duration(item.seconds), item.detail))
    print_table(("", "check", "status", "time", "what was measured"), rows)
    for violation in verdict.violations[:_SHOWN]:
        _print_violation(violation)
    if len(verdict.violations) > _SHOWN:
        click.echo(f"\n... and {len(verdict.violations) - _SHOWN} more; --json prints all.")
    skipped = [item.name for item in verdict.measurements if item.status == "skipped"]
    left = f" Not checked: {', '.join(skipped)}." if skipped else ""
    click.echo()
    if verdict.ok:
        click.echo(click.style("Every check that ran passed.", fg="green") + left)
    else:
        click.echo(click.style(f"{len(verdict.violations)} found.", fg="red") + left)


def _print_violation(violation: Violation) -> None:
    click.echo(f"\n{click.style(violation.code, bold=True)}: {violation.message}")
    for line in violation.evidence.rstrip().splitlines()[:12]:
        click.secho(f"    {line}", dim=True)
