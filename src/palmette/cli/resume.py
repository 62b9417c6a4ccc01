"""`palmette resume`: continues a run."""

from __future__ import annotations

import click

from palmette.cli.automl import Names
from palmette.cli.progress import watching
from palmette.cli.screen import human_option, json_option
from palmette.cli.summary import present
from palmette.engine import find_run, human_of, resume_run


@click.command()
@click.argument("run")
@click.option("--approve", type=Names(), default="", metavar="NAMES", help="Approve what the run waits for.")
@human_option
@json_option
def resume(run: str, approve: tuple[str, ...], human: str, as_json: bool) -> None:
    """Continue RUN (an id, its beginning, a folder, or `latest`).

    Everything that depends on artefacts edited in the run folder is computed again; the rest is kept. A run that waits
    for an approval asks for it on the terminal; --approve NAME gives it in advance.
    """
    from palmette.automl.arguments import STAGES

    agreed = tuple(STAGES.get(name, name) for name in approve)
    folder = find_run(run)
    asked = human_of(human, folder)
    present(resume_run(folder, watching(as_json, folder), human=asked, agreed=agreed), as_json)
