"""`palmette predict`: the predictions of a delivered model for the rows of a file."""

from __future__ import annotations

from pathlib import Path

import click

from palmette.errors import MachineError, UserError, counted


@click.command()
@click.argument("run")
@click.option("--input", "rows", type=click.Path(path_type=Path), required=True, help="CSV, Parquet, JSON, Excel, ...")
@click.option("--output", type=click.Path(path_type=Path), help="CSV file to write.  [default: standard output]")
@click.option(
    "--table", default="", metavar="NAME", help="Sheet, table or file to read; 'orders + customers' joins related ones."
)
def predict(run: str, rows: Path, output: Path | None, table: str) -> None:
    """Predict the rows of a file with the model of RUN (an id, its beginning, a folder, or `latest`) or of a folder."""
    from palmette.automl.endpoint.delivered import answer_file, delivered

    folder = delivered(run)
    if output is not None and not output.absolute().parent.is_dir():
        message = f"There is no folder {str(output.parent)!r} for the predictions."
        raise UserError(message, "Make it, or name another.", code="no-folder")
    text = answer_file(folder, rows, table, lambda repair: click.echo(repair, err=True))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"The predictions cannot be written to {str(output)!r}: {error.strerror}."
        raise MachineError(message, "Name another file with --output.", code="output-unwritable") from error
    click.echo(f"{counted(text.count(chr(10)) - 1, 'prediction')} in {output}", err=True)
