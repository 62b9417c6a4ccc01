"""The screen at the end of a run: what was made and checked, times, costs, location and next steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import click

from palmette.cli import model, pull_request
from palmette.cli.costs import HEADER, costs_json, costs_rows
from palmette.cli.report import Report
from palmette.cli.screen import clean, duration, print_checks, print_json, print_table, print_violation
from palmette.engine import RunResult
from palmette.errors import RunStopped, counted


def present(result: RunResult, as_json: bool) -> NoReturn:
    """Ends a command with the screen (or the JSON object) of its run and the matching exit status."""
    summary = summary_of(result)
    print_json(summary) if as_json else print_summary(result, summary)
    raise SystemExit(0 if result.status == "finished" else RunStopped.exit_code)


def summary_of(result: RunResult) -> dict[str, Any]:
    """Everything on the screen as JSON data, with the environment's own section."""
    state, actors = result.state, result.state.actors
    environment = state.opened.environment if state.opened else ""
    failures = [actor.failure for actor in actors.values() if actor.failure]
    return {
        "run": result.folder.name,
        "folder": str(result.folder),
        "status": result.status,
        "reason": result.reason,
        "seconds": round(state.spent.seconds, 1),
        "planner_steps": state.decisions,
        "steps": [
            {
                "actor": name,
                "status": actor.status,
                "invocations": actor.invocations,
                "failed_attempts": len(actor.attempts),
                "seconds": round(actor.seconds, 2),
            }
            for name, actor in actors.items()
        ],
        "checks": [one.model_dump() for actor in actors.values() for one in actor.measurements],
        "failures": [violation.model_dump() for failure in failures for violation in failure.violations],
        "models": costs_json(state),
        "artefacts": {
            name: {"version": version.number, "by": version.by, "path": str(result.path(name))}
            for name, version in state.artefacts.items()
        },
        **(REPORTS[environment].facts(result) if environment in REPORTS else {}),
    }


REPORTS: Mapping[str, Report] = {"features": pull_request.REPORT, "automl": model.REPORT}
"""Sections by environment."""


def print_summary(result: RunResult, summary: Mapping[str, Any]) -> None:
    """Prints the screen of `summary_of(result)` to standard output."""
    report = REPORTS.get(result.state.opened.environment if result.state.opened else "")
    is_made = report is not None and bool(summary.get(report.made))
    if report is not None:
        report.begin(summary)
    _title("What was done")
    print_table(("actor", "status", "invocations", "failed attempts", "time"), _steps(summary))
    if checks := [one for actor in result.state.actors.values() for one in actor.measurements]:
        _title("What was checked")
        print_checks(checks)
    if costs := costs_rows(result.state):
        _title("What language models did")
        print_table(HEADER, costs)
    if report is not None and is_made:
        _title(report.title)
        report.show(summary)
    else:
        _title("What was made")
        artefacts = summary["artefacts"].items()
        print_table(("artefact", "version", "made by"), [(name, one["version"], one["by"]) for name, one in artefacts])
    for failure in (actor.failure for actor in result.state.actors.values() if actor.failure):
        for violation in failure.violations:
            print_violation(violation)
    if result.status == "stopped":
        click.echo(f"\n{click.style('Stopped:', bold=True)} {clean(result.reason)}")
    _print_next(summary, report.next(summary) if report is not None and is_made else ())


def _title(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def _steps(summary: Mapping[str, Any]) -> list[tuple[object, ...]]:
    steps = [
        (step["actor"], step["status"], step["invocations"], step["failed_attempts"], duration(step["seconds"]))
        for step in summary["steps"]
    ]
    taken = counted(summary["planner_steps"], "step")
    return [*steps, ("all", summary["status"], taken, "", duration(summary["seconds"]))]


def _print_next(summary: Mapping[str, Any], own: Iterable[tuple[str, str]]) -> None:
    """Prints the commands to type next."""
    run = summary["run"]
    _title("Next")
    for what, command in own:
        click.echo(f"{what:<12} {command}")
    click.echo(f"explain it   palmette show {run}")
    if summary["status"] != "finished":
        click.echo(f"continue     fix the cause, then: palmette resume {run}")
    click.echo(f"change it    edit a file under {summary['folder']}/artefacts, then: palmette resume {run}")
