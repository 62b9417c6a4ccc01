"""`palmette predict`: the predictions of a delivered model for the rows of a file."""

from __future__ import annotations

from pathlib import Path

import click

from palmette.errors import MachineError, UserError


@click.command()
@click.argument("run")
@click.option("--input", "rows", type=click.Path(path_type=Path), required=True, help="CSV, Parquet, JSON, Excel, ...")
@click.option("--output", type=click.Path(path_type=Path), help="A CSV file; left out: standard output.")
@click.option("--table", default="", metavar="NAME", help="Which sheet, table or file of an archive is meant.")
def predict(run: str, rows: Path, output: Path | None, table: str) -> None:
    """Predict the rows of a file with the model of RUN (an id, its beginning, a folder, or `latest`) or of a folder."""
    from palmette.automl.endpoint.delivered import answer_file, delivered

    folder = delivered(run)
    if output is not None and not output.absolute().parent.is_dir():
        message = f"There is no folder {str(output.parent)!r} for the predictions."
        raise UserError(message, "Make it, or name another.", code="no-folder")
    said = answer_file(folder, rows, table, lambda text: click.echo(text, err=True))
    if output is None:
        click.echo(said, nl=False)
        return
    try:
        output.write_text(said, encoding="utf-8")
    except OSError as error:
        message = f"The predictions cannot be written to {str(output)!r}: {error.strerror}."
        raise MachineError(message, "Name another file with --output.", code="output-unwritable") from error
    click.echo(f"{said.count(chr(10)) - 1} predictions in {output}", err=True)
