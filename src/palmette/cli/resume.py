"""`palmette resume`: goes on with a run."""

from __future__ import annotations

import click

from palmette.cli.automl import Names
from palmette.cli.progress import watching
from palmette.cli.screen import json_option
from palmette.cli.summary import present
from palmette.engine import ConsoleHuman, NoHuman, find_run, resume_run


@click.command()
@click.argument("run")
@click.option("--approve", type=Names(), default="", metavar="NAMES", help="Agree to what the run waits for.")
@click.option(
    "--human", type=click.Choice(["console", "none"]), default="console", show_default=True, help="Whom to ask."
)
@json_option
def resume(run: str, approve: tuple[str, ...], human: str, as_json: bool) -> None:
    """Go on with RUN (an id, its beginning, a folder, or `latest`).

    What depends on artefacts that were edited in the run folder is done again; everything else is kept. A run that
    waits for somebody's approval asks for it on the terminal; --approve NAME agrees beforehand.
    """
    from palmette.automl.arguments import STAGES

    agreed = tuple(STAGES.get(name, name) for name in approve)
    asked = NoHuman() if human == "none" else ConsoleHuman()
    folder = find_run(run)
    present(resume_run(folder, watching(as_json, folder), human=asked, agreed=agreed), as_json)
