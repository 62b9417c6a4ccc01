"""The pull request of a feature run, on the end screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from palmette.cli.report import Report
from palmette.cli.screen import clean
from palmette.engine import RunResult


def _facts(result: RunResult) -> dict[str, Any]:
    """The departures of new files from their neighbours' habits, and the pull request."""
    made = result.state.artefacts
    template = result.value("template") if "template" in made else {}
    return {
        "departures": template.get("conventions", {}).get("departures", []),
        "pull_request": _delivery(result) if "pull_request" in made else None,
    }


def _delivery(result: RunResult) -> dict[str, Any]:
    folder, delivered = result.path("pull_request"), result.value("pull_request")
    names = ("branch", "base", "files", "url", "repository", "pushed_to")
    files = {name: str(folder / delivered[name]["path"]) for name in ("body", "patch")}
    return {**{name: delivered[name] for name in names}, **files}


def _show(summary: Mapping[str, Any]) -> None:
    made = summary["pull_request"]
    where = made["url"] or (f"pushed to {made['pushed_to']}" if made["pushed_to"] else "local, nothing was pushed")
    click.echo(f"branch {made['branch']} into {made['base']} of {made['repository']} ({where})")
    for path in made["files"]:
        click.echo(f"  {path}")
    click.echo(f"description  {made['body']}\npatch        {made['patch']}")
    for departure in summary["departures"]:
        click.echo(f"{click.style('!', fg='yellow')} {clean(departure)}")


def _next(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    made = summary["pull_request"]
    yield "read it", f"git -C {made['repository']} diff {made['base']}...{made['branch']}"


REPORT = Report("Pull request", "pull_request", _facts, _show, _next)
