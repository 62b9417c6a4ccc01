"""The screen at the end of a run: what was made and checked, times, costs, location and next steps.

Each environment has a section of its own on it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from palmette.cli.screen import (
    HEADER,
    costs_json,
    costs_rows,
    duration,
    near,
    print_checks,
    print_json,
    print_table,
    print_violation,
)
from palmette.engine import RunResult
from palmette.errors import RunStopped, counted

SHOWN = 8  # rows of the leaderboard
COLOURS = {"pass": "green", "partly": "yellow", "fail": "red"}


class EndSection(NamedTuple):
    """An environment's section of the screen, of the JSON object, and of the next steps."""

    title: str
    made: str  # the key in `facts` that is empty until there is a product
    facts: Callable[[RunResult], dict[str, Any]]  # additions to the JSON object of a run
    show: Callable[[Mapping[str, Any]], None]  # prints the product, from the JSON object
    next: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]  # next steps: a short label and the command
    begin: Callable[[Mapping[str, Any]], None] = lambda _: None  # prints the first part of the screen


def print_task(task: Any, err: bool = False) -> None:
    """Prints the interpretation of the request from the JSON data of its `TaskSpec`, if there is one."""
    if not task:
        return
    from palmette.automl.report.interpretation import interpretation_lines
    from palmette.automl.task_spec.spec import TaskSpec

    click.secho("\nHow the request was read", bold=True, err=err)
    for line in interpretation_lines(TaskSpec.model_validate(task)):
        click.secho(line, fg={"?": "yellow", "✗": "red"}.get(line[:1]), err=err)


def _model_facts(result: RunResult) -> dict[str, Any]:
    """The task, the assessment, the leaderboard and the delivery."""
    artefacts = ("task", "assessment", "comparison", "delivery")
    found = {name: result.value(name) if name in result.state.artefacts else None for name in artefacts}
    delivery, comparison, assessment = found["delivery"], found["comparison"], found["assessment"]
    return {
        "task": found["task"],
        "model": delivery and {name: delivery[name] for name in ("folder", "package")},
        "assessment": assessment and {name: value for name, value in assessment.items() if name != "answers"},
        "leaderboard": comparison["leaderboard"] if comparison else [],
        "metric": comparison["selection"]["metric"] if comparison else "",
        "measured": comparison["measured"] if comparison else "",
        "selection": comparison["reason"] if comparison else "",
    }


def _print_model(summary: Mapping[str, Any]) -> None:
    """Prints the verdict, the candidates, and the folder."""
    from palmette.automl.artefacts import Assessment, LeaderboardRow
    from palmette.automl.formatting import metric, seconds
    from palmette.automl.report.tables import leaderboard
    from palmette.automl.report.verdict import MARKS, verdict_text

    verdict = verdict_text(Assessment.model_validate(summary["assessment"]), summary["measured"])
    click.secho(verdict.headline, bold=True)
    for line in verdict.lines:
        click.echo(f"{click.style(MARKS[line.status], fg=COLOURS[line.status])} {line!s}")
    click.echo(verdict.figures)
    click.echo()
    lines = leaderboard([LeaderboardRow.model_validate(one) for one in summary["leaderboard"]])[:SHOWN]
    rows = [
        ("→" if one.row.chosen else "", one.row.name, one.row.track, one.score, one.interval, seconds(one.row.seconds))
        for one in lines
    ]
    score = f"{metric(summary['metric'])} {summary['measured']}"
    print_table(("", "candidate", "track", score, "95 % interval", "training"), rows)
    folder = Path(summary["model"]["folder"])
    click.echo(f"\nproject   {folder}")
    if (folder / "report.html").is_file():
        click.echo(f"report    {folder / 'report.html'}")


def _model_next(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    run = summary["run"]
    yield "serve it", f"palmette serve {run}"
    yield "ask it", f"palmette predict {run} --input FILE"
    yield "retrain it", f"palmette retrain {run} --data FILE"
    yield "read it", near(Path(summary["model"]["folder"]))


def _pull_request_facts(result: RunResult) -> dict[str, Any]:
    """The departures of new files from their neighbours' habits, and the pull request."""
    made = result.state.artefacts
    template = result.value("template") if "template" in made else {}
    delivered = None
    if "pull_request" in made:
        folder, value = result.path("pull_request"), result.value("pull_request")
        delivered = {name: value[name] for name in ("branch", "base", "files", "url", "repository", "pushed_to")}
        delivered |= {name: str(folder / value[name]["path"]) for name in ("body", "patch")}
    return {
        "departures": template.get("conventions", {}).get("departures", []),
        "pull_request": delivered,
    }


def _print_pull_request(summary: Mapping[str, Any]) -> None:
    made = summary["pull_request"]
    where = made["url"] or (f"pushed to {made['pushed_to']}" if made["pushed_to"] else "local, nothing was pushed")
    click.echo(f"branch {made['branch']} into {made['base']} of {made['repository']} ({where})")
    for path in made["files"]:
        click.echo(f"  {path}")
    click.echo(f"description  {made['body']}\npatch        {made['patch']}")
    for departure in summary["departures"]:
        click.echo(f"{click.style('!', fg='yellow')} {departure}")


def _pull_request_next(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    made = summary["pull_request"]
    yield "read it", f"git -C {made['repository']} diff {made['base']}...{made['branch']}"


SECTIONS: Mapping[str, EndSection] = {
    "features": EndSection(
        "Pull request", "pull_request", _pull_request_facts, _print_pull_request, _pull_request_next
    ),
    "automl": EndSection(
        "Model", "model", _model_facts, _print_model, _model_next, lambda summary: print_task(summary["task"])
    ),
}
"""By environment."""


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
        **(SECTIONS[environment].facts(result) if environment in SECTIONS else {}),
    }


def print_summary(result: RunResult, summary: Mapping[str, Any]) -> None:
    """Prints the screen of `summary_of(result)` to standard output."""
    section = SECTIONS.get(result.state.opened.environment if result.state.opened else "")
    is_made = section and bool(summary.get(section.made))
    if section:
        section.begin(summary)
    _title("What was done")
    print_table(("actor", "status", "invocations", "failed attempts", "time"), _steps(summary))
    if checks := [one for actor in result.state.actors.values() for one in actor.measurements]:
        _title("What was checked")
        print_checks(checks)
    if costs := costs_rows(result.state):
        _title("What language models did")
        print_table(HEADER, costs)
    if section and is_made:
        _title(section.title)
        section.show(summary)
    else:
        _title("What was made")
        artefacts = summary["artefacts"].items()
        print_table(("artefact", "version", "made by"), [(name, one["version"], one["by"]) for name, one in artefacts])
    for failure in (actor.failure for actor in result.state.actors.values() if actor.failure):
        for violation in failure.violations:
            print_violation(violation)
    if result.status == "stopped":
        click.echo(f"\n{click.style('Stopped:', bold=True)} {result.reason}")
    _print_next(summary, section.next(summary) if section and is_made else ())


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
