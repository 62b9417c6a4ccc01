"""The delivered model of an AutoML run on the end screen: the same verdict as in its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from palmette.cli.report import Report
from palmette.cli.screen import clean, near, print_table
from palmette.engine import RunResult

SHOWN = 8
"""Rows of the leaderboard."""
COLOURS = {"pass": "green", "partly": "yellow", "fail": "red"}


def print_task(task: Any, err: bool = False) -> None:
    """Prints the interpretation of the request from the JSON data of its `TaskSpec`."""
    from palmette.automl.report.interpretation import interpretation_lines
    from palmette.automl.task_spec.spec import TaskSpec

    click.secho("\nHow the request was read", bold=True, err=err)
    for line in interpretation_lines(TaskSpec.model_validate(task)):
        click.secho(line, fg={"?": "yellow", "✗": "red"}.get(line[:1]), err=err)


def _facts(result: RunResult) -> dict[str, Any]:
    """The task, the assessment, the leaderboard and the delivery."""
    artefacts = ("task", "assessment", "comparison", "delivery")
    found = {name: result.value(name) if name in result.state.artefacts else None for name in artefacts}
    delivery, comparison, assessment = found["delivery"], found["comparison"], found["assessment"]
    return {
        "task": found["task"],
        "model": delivery and {name: delivery[name] for name in ("folder", "package")},
        "assessment": assessment and {name: value for name, value in assessment.items() if name != "answers"},
        "leaderboard": comparison["leaderboard"] if comparison else [],
        "measured": comparison["measured"] if comparison else "",
        "selection": comparison["reason"] if comparison else "",
    }


def _begin(summary: Mapping[str, Any]) -> None:
    if summary["task"]:
        print_task(summary["task"])


def _show(summary: Mapping[str, Any]) -> None:
    """Prints the verdict, the candidates, and the folder."""
    from palmette.automl.artefacts import Assessment, LeaderboardRow
    from palmette.automl.formatting import seconds
    from palmette.automl.report import verdict_text
    from palmette.automl.report.tables import leaderboard
    from palmette.automl.report.verdict import MARKS

    verdict = verdict_text(Assessment.model_validate(summary["assessment"]), summary["measured"])
    click.secho(verdict.headline, bold=True)
    for line in (verdict.better, verdict.constraints, *verdict.results):
        click.echo(f"{click.style(MARKS[line.status], fg=COLOURS[line.status])} {clean(str(line))}")
    click.echo("; ".join(f"{figure.label}: {figure.value}" for figure in verdict.quantities))
    click.echo()
    lines = leaderboard([LeaderboardRow.model_validate(one) for one in summary["leaderboard"]])[:SHOWN]
    rows = [
        ("→" if one.row.chosen else "", one.row.name, one.row.track, one.score, one.interval, seconds(one.row.seconds))
        for one in lines
    ]
    print_table(("", "candidate", "track", summary["measured"], "95 % interval", "training"), rows)
    folder = Path(summary["model"]["folder"])
    click.echo(f"\nproject   {folder}")
    if (folder / "report.html").is_file():
        click.echo(f"report    {folder / 'report.html'}")


def _next(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    run = summary["run"]
    yield "serve it", f"palmette serve {run}"
    yield "ask it", f"palmette predict {run} --input FILE"
    yield "retrain it", f"palmette retrain {run} --data FILE"
    yield "read it", near(Path(summary["model"]["folder"]))


REPORT = Report("Model", "model", _facts, _show, _next, _begin)
