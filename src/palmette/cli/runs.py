"""`palmette runs`: lists the runs."""

from __future__ import annotations

import click

from palmette.cli.screen import first_line, json_option, print_json, print_table
from palmette.engine import list_runs, runs_folder


@click.command()
@json_option
def runs(as_json: bool) -> None:
    """List the runs of this folder (or of $PALMETTE_RUNS), the newest first."""
    found = list_runs()
    if as_json:
        print_json(
            {
                "runs": [
                    {
                        "id": run.id,
                        "what": run.what,
                        "status": run.status,
                        "reason": run.reason,
                        "steps": run.steps,
                        "started": run.started.isoformat(timespec="seconds"),
                        "folder": str(run.folder),
                    }
                    for run in found
                ]
            }
        )
    elif not found:
        click.echo(f"There are no runs in {runs_folder()}.")
    else:
        print_table(
            ("id", "what", "status", "started", "steps", "reason"),
            [
                (run.id, run.what, run.status, f"{run.started:%Y-%m-%d %H:%M}", run.steps, first_line(run.reason))
                for run in found
            ],
        )
