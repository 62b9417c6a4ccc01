"""`palmette retrain`: a delivered model is fitted again on new rows, and replaced where the new one is better."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from palmette.cli.screen import json_option, near, print_json, print_table


@click.command()
@click.argument("run")
@click.option("--data", type=click.Path(path_type=Path), required=True, help="New rows with their target.")
@click.option(
    "--table", default="", metavar="NAME", help="Sheet, table or file to read; 'orders + customers' joins related ones."
)
@json_option
def retrain(run: str, data: Path, table: str, as_json: bool) -> None:
    """Fit the model of RUN (an id, its beginning, a folder, or `latest`) again on new rows.

    A quarter of the rows is held out, and both models are scored on them. The new model replaces the old one where it
    is better by more than noise; otherwise the old one stays, and the exit status is 1.
    """
    from palmette.automl.endpoint.retraining import retrain as retrained

    found = retrained(run, data, table, lambda text: click.echo(text, err=True))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        title = f"{found.metric} on {found.held_out} held-out rows"
        interval = f"{found.new:.4g} (95 % interval {found.low:.4g} to {found.high:.4g})"
        print_table(("model", title), [("old", f"{found.old:.4g}"), ("new", interval)])
        if found.repeated:
            click.echo(f"{found.repeated} rows are in the training data of the old model; none of them is held out.")
        folder = Path(found.folder)
        better = f"The new model is better by more than noise. It is now in {near(folder)}."
        click.echo(better if found.replaced else f"Not better by more than noise: {near(folder)} stays as it is.")
    sys.exit(0 if found.replaced else 1)
