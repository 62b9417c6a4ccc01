"""The delivered model of an AutoML run, on the end screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from palmette.cli.report import Report
from palmette.cli.screen import clean, near, print_table
from palmette.engine import RunResult

SHOWN = 8
"""Lines of the leaderboard."""
MARKS = {"pass": "✓", "partly": "~", "fail": "✗"}


def _facts(result: RunResult) -> dict[str, Any]:
    """Scores, constraints, leaderboard and delivery."""
    wanted = ("assessment", "comparison", "delivery", "requirements")
    found = {name: result.value(name) if name in result.state.artefacts else None for name in wanted}
    delivery, comparison = found["delivery"], found["comparison"]
    return {
        "model": delivery and {name: delivery[name] for name in ("folder", "p50", "p95")},
        "assessment": found["assessment"],
        "leaderboard": comparison["leaderboard"] if comparison else [],
        "measured": comparison["measured"] if comparison else "",
        "better_than_baseline": comparison["better"] if comparison else None,
        "selection": comparison["reason"] if comparison else "",
        "unread": list(found["requirements"]["unread"]) if found["requirements"] else [],
    }


def _show(summary: Mapping[str, Any]) -> None:
    """The score, what was asked for, what it was chosen from, and where it lies."""
    model, assessment = summary["model"], summary["assessment"]
    click.echo(_scored(assessment))
    if not summary["better_than_baseline"]:
        click.secho("It does not beat the baseline by more than noise.", fg="yellow")
    for one in assessment["judged"]:
        click.echo(f"{MARKS[one['status']]} {clean(one['wish'])}: {clean(one['measured'])} ({one['status']})")
    for words in summary["unread"]:
        click.secho(f"? not understood, and kept to by nothing: {clean(words)}", fg="yellow")
    click.echo()
    rows = [
        ("→" if one["chosen"] else "", one["name"], one["track"], f"{one['score']:.4f}", f"{one['seconds']:.1f} s")
        for one in summary["leaderboard"][:SHOWN]
    ]
    print_table(("", "candidate", "track", summary["measured"], "training"), rows)
    click.echo(f"\nproject   {model['folder']}")
    if (Path(model["folder"]) / "report.html").is_file():
        click.echo(f"report    {Path(model['folder']) / 'report.html'}")
    click.echo(f"endpoint  answers a row in {model['p50']:.0f} ms (median), {model['p95']:.0f} ms (95 %)")


def _scored(assessment: Mapping[str, Any]) -> str:
    """The metric of the run."""
    where = f"on {assessment['rows']} rows that no training saw" if assessment["rows"] else "out of fold"
    if assessment["unmeasured"]:
        return str(assessment["unmeasured"])
    if not assessment["scores"]:
        return f"Nothing could be measured {where}."
    first = assessment["scores"][0]
    interval = f"95 % interval {first['low']:.4g} to {first['high']:.4g}"
    baseline = "" if first["baseline"] is None else f"; best baseline {first['baseline']:.4g}"
    return f"{click.style(first['metric'], bold=True)} {first['value']:.4g} {where} ({interval}{baseline})"


def _next(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    run = summary["run"]
    yield "serve it", f"palmette serve {run}"
    yield "ask it", f"palmette predict {run} --input FILE"
    yield "read it", near(Path(summary["model"]["folder"]))


REPORT = Report("Model", "model", _facts, _show, _next)
