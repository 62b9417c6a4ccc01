"""Commands for a delivered model: `predict`, `retrain` and `export`."""

import sys
from pathlib import Path

import click

from palmette.cli.screen import FILE, json_option, near, print_json, print_table, say
from palmette.documents import write_text
from palmette.errors import UserError, counted

_TABLE = "Sheet, table or file to read; 'orders + customers' joins related ones."
_table_option = click.option("--table", default="", metavar="NAME", help=_TABLE)


@click.command()
@click.argument("run")
@click.option("--input", "rows", type=FILE, required=True, help="CSV, Parquet, JSON, Excel, ...")
@click.option("--output", type=FILE, help="CSV file to write.  [default: standard output]")
@_table_option
def predict(run: str, rows: Path, output: Path | None, table: str) -> None:
    """Predict the rows of a file with the model of RUN (an id, its beginning, a folder, or `latest`) or of a folder."""
    from palmette.automl.endpoint.delivered import answer_file, delivered

    folder = delivered(run)
    if output is not None and not output.absolute().parent.is_dir():
        message = f"There is no folder {str(output.parent)!r} for the predictions."
        raise UserError(message, "Make it, or name another.", code="no-folder")
    text = answer_file(folder, rows, table, say)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    say(f"{counted(text.count(chr(10)) - 1, 'prediction')} in {output}")


@click.command()
@click.argument("run")
@click.option("--data", type=FILE, required=True, help="New rows with their target.")
@_table_option
@json_option
def retrain(run: str, data: Path, table: str, as_json: bool) -> None:
    """Fit the model of RUN (an id, its beginning, a folder, or `latest`) again on new rows.

    A quarter of the rows is held out, and both models are scored on them. The new model replaces the old one where it
    is better by more than noise; otherwise the old one stays, and the exit status is 1.
    """
    from palmette.automl.endpoint.retraining import retrain as retrained

    found = retrained(run, data, table, lambda text: say(text, as_json))
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


@click.command()
@click.argument("run")
@click.option("--output", type=FILE, default=Path("model.onnx"), show_default=True)
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
