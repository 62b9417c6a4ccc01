"""`palmette resume`: goes on with a run."""

from __future__ import annotations

import click

from palmette.cli.progress import watching
from palmette.cli.screen import json_option
from palmette.cli.summary import present
from palmette.engine import find_run, resume_run


@click.command()
@click.argument("run")
@json_option
def resume(run: str, as_json: bool) -> None:
    """Go on with RUN (an id, its beginning, a folder, or `latest`).

    What depends on artefacts that were edited in the run folder is done again; everything else is kept.
    """
    present(resume_run(find_run(run), watching(as_json)), as_json)
