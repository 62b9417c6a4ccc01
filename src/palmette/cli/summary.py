"""The screen at the end of a feature run: what was made, what was checked, where it lies, what to do next."""

from __future__ import annotations

from typing import Any, NoReturn

from palmette.cli.costs import HEADER, costs_json, costs_rows, print_costs
from palmette.cli.screen import exit_status, print_json, print_result, result_json
from palmette.engine import RunResult

_MARK = {"passed": "[green]✓[/]", "failed": "[red]✗[/]", "skipped": "[yellow]–[/]", "warning": "[yellow]![/]"}


def present(result: RunResult, as_json: bool) -> NoReturn:
    """Ends a command with the screen (or the JSON object) of its run, and the exit status that fits."""
    if result.state.opened is not None and result.state.opened.environment == "features":
        summary = feature_summary(result)
        print_json(summary) if as_json else print_feature_summary(summary, costs_rows(result.state))
    elif as_json:
        print_json({**result_json(result), "models": costs_json(result.state)})
    else:
        print_result(result)
        print_costs(result.state)
    raise SystemExit(exit_status(result))


def feature_summary(result: RunResult) -> dict[str, Any]:
    """Everything that the screen says, as JSON data."""
    state = result.state
    checks = [measurement.model_dump() for actor in state.actors.values() for measurement in actor.measurements]
    failures = [
        violation.model_dump()
        for actor in state.actors.values()
        if actor.failure
        for violation in actor.failure.violations
    ]
    steps = [
        {
            "actor": name,
            "status": actor.status,
            "invocations": actor.invocations,
            "failed_attempts": len(actor.attempts),
            "seconds": round(actor.seconds, 2),
        }
        for name, actor in state.actors.items()
    ]
    delivered = result.value("pull_request") if "pull_request" in state.artefacts else None
    template = result.value("template") if "template" in state.artefacts else {}
    return {
        "run": result.folder.name,
        "folder": str(result.folder),
        "status": result.status,
        "reason": result.reason,
        "seconds": round(state.spent.seconds, 1),
        "planner_steps": state.spent.steps,
        "steps": steps,
        "checks": checks,
        "failures": failures,
        "departures": template.get("conventions", {}).get("departures", []),
        "models": costs_json(state),
        "pull_request": _delivery(result, delivered) if delivered else None,
    }


def _delivery(result: RunResult, delivered: dict[str, Any]) -> dict[str, Any]:
    folder = result.path("pull_request")
    return {
        "branch": delivered["branch"],
        "base": delivered["base"],
        "files": delivered["files"],
        "url": delivered["url"],
        "repository": delivered["repository"],
        "pushed_to": delivered["pushed_to"],
        "body": str(folder / delivered["body"]["path"]),
        "patch": str(folder / delivered["patch"]["path"]),
    }


def print_feature_summary(summary: dict[str, Any], costs: list[tuple[str, ...]]) -> None:
    """Prints the screen to standard output; `costs` as `costs_rows` gives them."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    console.print()
    console.print(_steps(summary))
    if summary["checks"]:
        console.print(_checks(summary))
    if costs:
        console.print(_costs(costs))
    for violation in summary["failures"]:
        console.print(f"[red]✗[/] {_plain(violation['message'])} [dim]\\[{violation['code']}][/]")
        if violation["evidence"]:
            console.print(f"[dim]{_plain(violation['evidence'][:1500])}[/]")
    for departure in summary["departures"]:
        console.print(f"[yellow]![/] {_plain(departure)}")
    console.print(_closing(summary))


def _steps(summary: dict[str, Any]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        "step",
        "status",
        "calls",
        "failures",
        "seconds",
        title="What was done",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for step in summary["steps"]:
        table.add_row(
            step["actor"],
            step["status"],
            str(step["invocations"]),
            str(step["failed_attempts"]),
            f"{step['seconds']:.1f}",
        )
    table.add_section()
    table.add_row("all", summary["status"], f"{summary['planner_steps']} steps", "", f"{summary['seconds']:.1f}")
    return table


def _checks(summary: dict[str, Any]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        "",
        "check",
        "what was measured",
        "seconds",
        title="What was checked",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for check in summary["checks"]:
        table.add_row(_MARK[check["status"]], check["name"], _plain(check["detail"]), f"{check['seconds']:.1f}")
    return table


def _costs(rows: list[tuple[str, ...]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*HEADER, title="What language models did", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    return table


def _closing(summary: dict[str, Any]) -> str:
    run, made = summary["run"], summary["pull_request"]
    if made is None:
        what = (
            f"[bold]Stopped:[/] {_plain(summary['reason'])}"
            if summary["status"] != "finished"
            else "[bold]Finished.[/]"
        )
        return (
            f"{what}\n\nThe run lies in {summary['folder']}\n"
            f"  look   palmette show {run}\n"
            f"  go on  palmette resume {run}   (after mending the cause, or editing an artefact)"
        )
    files = "\n".join(f"  {path}" for path in made["files"])
    where = made["url"] or (f"pushed to {made['pushed_to']}" if made["pushed_to"] else "local, nothing was pushed")
    repository, branch = made["repository"], made["branch"]
    return (
        f"[bold]Pull request:[/] branch {branch} into {made['base']} of {repository} ({where})\n{files}\n"
        f"  description  {made['body']}\n  patch        {made['patch']}\n\n[bold]Next[/]\n"
        f"  read it      git -C {repository} diff {made['base']}...{branch}\n"
        f"  explain it   palmette show {run}\n"
        f"  change it    edit a file under {summary['folder']}/artefacts, then: palmette resume {run}"
    )


def _plain(text: str) -> str:
    """Text that is not ours, without rich's markup in it."""
    from rich.markup import escape

    return escape(text)
