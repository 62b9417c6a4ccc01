"""The screen at the end of a run: what was made, what was checked, how long it took, where it lies, what is next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from palmette.cli.costs import HEADER, costs_json, costs_rows
from palmette.cli.screen import print_json
from palmette.engine import RunResult
from palmette.errors import RunStopped

_MARK = {"passed": "[green]✓[/]", "failed": "[red]✗[/]", "skipped": "[yellow]–[/]", "warning": "[yellow]![/]"}


def present(result: RunResult, as_json: bool) -> NoReturn:
    """Ends a command with the screen (or the JSON object) of its run, and the exit status that fits."""
    summary = summary_of(result)
    print_json(summary) if as_json else print_summary(summary, costs_rows(result.state))
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


def print_summary(summary: Mapping[str, Any], costs: Iterable[Sequence[str]]) -> None:
    """Prints the screen to standard output; `costs` as `costs_rows` gives them."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    made = summary.get("pull_request")
    console.print()
    for table in (_steps(summary), _checks(summary), _table("What language models did", HEADER, costs)):
        if table.row_count:
            console.print(table)
    console.print(_pull_request(made) if made else _artefacts(summary))
    for violation in summary["failures"]:
        console.print(f"[red]✗[/] {_plain(violation['message'])} [dim]\\[{violation['code']}][/]")
        if violation["evidence"]:
            console.print(f"[dim]{_plain(violation['evidence'][:1500])}[/]")
    for departure in summary.get("departures", ()):
        console.print(f"[yellow]![/] {_plain(departure)}")
    if not made:
        done = summary["status"] == "finished"
        console.print("[bold]Finished.[/]" if done else f"[bold]Stopped:[/] {_plain(summary['reason'])}")
    console.print(_next(summary))


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*header, title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table


def _steps(summary: Mapping[str, Any]) -> Any:
    rows = [
        (
            step["actor"],
            step["status"],
            str(step["invocations"]),
            str(step["failed_attempts"]),
            f"{step['seconds']:.1f}",
        )
        for step in summary["steps"]
    ]
    table = _table("What was done", ("actor", "status", "invocations", "failed attempts", "seconds"), rows)
    table.add_section()
    table.add_row("all", summary["status"], f"{summary['planner_steps']} steps", "", f"{summary['seconds']:.1f}")
    return table


def _checks(summary: Mapping[str, Any]) -> Any:
    rows = [
        (_MARK[check["status"]], check["name"], _plain(check["detail"]), f"{check['seconds']:.1f}")
        for check in summary["checks"]
    ]
    return _table("What was checked", ("", "check", "what was measured", "seconds"), rows)


def _artefacts(summary: Mapping[str, Any]) -> Any:
    rows = [(name, str(made["version"]), made["by"]) for name, made in summary["artefacts"].items()]
    return _table("What was made", ("artefact", "version", "made by"), rows)


def _pull_request(made: Mapping[str, Any]) -> str:
    files = "\n".join(f"  {path}" for path in made["files"])
    where = made["url"] or (f"pushed to {made['pushed_to']}" if made["pushed_to"] else "local, nothing was pushed")
    return (
        f"[bold]Pull request:[/] branch {made['branch']} into {made['base']} of {made['repository']} ({where})\n"
        f"{files}\n  description  {made['body']}\n  patch        {made['patch']}"
    )


def _next(summary: Mapping[str, Any]) -> str:
    """What to type now."""
    run, made = summary["run"], summary.get("pull_request")
    lines = [
        *([f"read it      git -C {made['repository']} diff {made['base']}...{made['branch']}"] if made else []),
        f"explain it   palmette show {run}",
        *([f"go on        mend the cause, then: palmette resume {run}"] if summary["status"] != "finished" else []),
        f"change it    edit a file under {summary['folder']}/artefacts, then: palmette resume {run}",
    ]
    return "\n".join(["", "[bold]Next[/]", *(f"  {line}" for line in lines)])


def _plain(text: str) -> str:
    """Text that is not ours, without rich's markup in it."""
    from rich.markup import escape

    return escape(text)
