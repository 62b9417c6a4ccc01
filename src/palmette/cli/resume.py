"""`palmette resume`: goes on with a run."""

from __future__ import annotations

import click

from palmette.cli.progress import Progress
from palmette.cli.screen import exit_status, json_option, print_json, print_result, result_json
from palmette.engine import find_run, resume_run


@click.command()
@click.argument("run")
@json_option
def resume(run: str, as_json: bool) -> None:
    """Go on with RUN (an id, its beginning, a folder, or `latest`).

    What depends on artefacts that were edited in the run folder is done again; everything else is kept.
    """
    result = resume_run(find_run(run), Progress())
    print_json(result_json(result)) if as_json else print_result(result)
    raise SystemExit(exit_status(result))
