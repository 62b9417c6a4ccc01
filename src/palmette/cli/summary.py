"""The screen at the end of a run: what was made, what was checked, how long it took, where it lies, what is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import click

from palmette.cli.costs import HEADER, costs_json, costs_rows
from palmette.cli.screen import clean, duration, print_checks, print_json, print_table, print_violation
from palmette.engine import RunResult
from palmette.errors import RunStopped


def present(result: RunResult, as_json: bool) -> NoReturn:
    """Ends a command with the screen (or the JSON object) of its run, and the exit status that fits."""
    summary = summary_of(result)
    print_json(summary) if as_json else print_summary(result, summary)
    raise SystemExit(0 if result.status == "finished" else RunStopped.exit_code)


def summary_of(result: RunResult) -> dict[str, Any]:
    """Everything that the screen says, as JSON data; the environment adds what only its runs make."""
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
        **(REPORTS[environment](result) if environment in REPORTS else {}),
    }


def _feature_report(result: RunResult) -> dict[str, Any]:
    """Where new files differ from their neighbours' habits, and the pull request."""
    made = result.state.artefacts
    template = result.value("template") if "template" in made else {}
    return {
        "departures": template.get("conventions", {}).get("departures", []),
        "pull_request": _delivery(result) if "pull_request" in made else None,
    }


REPORTS: Mapping[str, Callable[[RunResult], dict[str, Any]]] = {"features": _feature_report}
"""By environment."""


def _delivery(result: RunResult) -> dict[str, Any]:
    folder, delivered = result.path("pull_request"), result.value("pull_request")
    said = ("branch", "base", "files", "url", "repository", "pushed_to")
    files = {name: str(folder / delivered[name]["path"]) for name in ("body", "patch")}
    return {**{name: delivered[name] for name in said}, **files}


def print_summary(result: RunResult, summary: Mapping[str, Any]) -> None:
    """Prints the screen of `summary_of(result)` to standard output."""
    made = summary.get("pull_request")
    _title("What was done")
    print_table(("actor", "status", "invocations", "failed attempts", "time"), _steps(summary))
    if checks := [one for actor in result.state.actors.values() for one in actor.measurements]:
        _title("What was checked")
        print_checks(checks)
    if costs := costs_rows(result.state):
        _title("What language models did")
        print_table(HEADER, costs)
    if made:
        _print_pull_request(made)
    else:
        _title("What was made")
        artefacts = summary["artefacts"].items()
        print_table(("artefact", "version", "made by"), [(name, one["version"], one["by"]) for name, one in artefacts])
    for failure in (actor.failure for actor in result.state.actors.values() if actor.failure):
        for violation in failure.violations:
            print_violation(violation)
    for departure in summary.get("departures", ()):
        click.echo(f"{click.style('!', fg='yellow')} {clean(departure)}")
    if result.status == "stopped":
        click.echo(f"\n{click.style('Stopped:', bold=True)} {clean(result.reason)}")
    _print_next(summary)


def _title(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def _steps(summary: Mapping[str, Any]) -> list[tuple[object, ...]]:
    steps = [
        (step["actor"], step["status"], step["invocations"], step["failed_attempts"], duration(step["seconds"]))
        for step in summary["steps"]
    ]
    return [*steps, ("all", summary["status"], f"{summary['planner_steps']} steps", "", duration(summary["seconds"]))]


def _print_pull_request(made: Mapping[str, Any]) -> None:
    where = made["url"] or (f"pushed to {made['pushed_to']}" if made["pushed_to"] else "local, nothing was pushed")
    _title("Pull request")
    click.echo(f"branch {made['branch']} into {made['base']} of {made['repository']} ({where})")
    for path in made["files"]:
        click.echo(f"  {path}")
    click.echo(f"description  {made['body']}\npatch        {made['patch']}")


def _print_next(summary: Mapping[str, Any]) -> None:
    """What to type now."""
    run, made = summary["run"], summary.get("pull_request")
    _title("Next")
    if made:
        click.echo(f"read it      git -C {made['repository']} diff {made['base']}...{made['branch']}")
    click.echo(f"explain it   palmette show {run}")
    if summary["status"] != "finished":
        click.echo(f"go on        mend the cause, then: palmette resume {run}")
    click.echo(f"change it    edit a file under {summary['folder']}/artefacts, then: palmette resume {run}")
