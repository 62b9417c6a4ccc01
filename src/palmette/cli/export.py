"""`palmette export`: the learner of a delivered model as ONNX."""

from __future__ import annotations

from pathlib import Path

import click

from palmette.cli.screen import json_option, print_json


@click.command()
@click.argument("run")
@click.option("--output", type=click.Path(path_type=Path), default=Path("model.onnx"), show_default=True)
@json_option
def export(run: str, output: Path, as_json: bool) -> None:
    """Write the learner of RUN (an id, its beginning, a folder, or `latest`) as ONNX.

    Its input are the features that the package's features.py makes. Its predictions are compared with those of the
    model on rows of the run.
    """
    from palmette.automl.endpoint.onnx_export import export_onnx

    found = export_onnx(run, output)
    if as_json:
        print_json(found.model_dump(mode="json") | {"output": str(output)})
        return
    after = f", on which numpy.{found.inverse} gives the prediction" if found.inverse else ""
    click.echo(f"{output}: from {found.features} features to the output of the learner{after}")
    click.echo(f"{found.rows - found.differing} of {found.rows} rows are predicted as by the model")
