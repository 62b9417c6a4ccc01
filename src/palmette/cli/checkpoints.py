"""`palmette checkpoints`: pretrained networks for columns of text, images, sounds or series."""

from __future__ import annotations

import click

from palmette.cli.screen import clean, print_table


@click.command()
@click.argument("kind", type=click.Choice(("text", "image", "audio", "series")))
@click.option("--rows", type=click.IntRange(min=1), default=10_000, show_default=True, help="Rows to encode.")
@click.option("--budget", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Seconds of the run.")
@click.option("--fetch", "id", metavar="OWNER/NAME", help="Fetch this network into $PALMETTE_MODELS.")
def checkpoints(kind: str, rows: int, budget: float, id: str | None) -> None:
    """Find networks of the Hugging Face hub for columns of a kind, or fetch one.

    Only safetensors of known architectures are used. A fetched network is a candidate of later runs, offline too.
    """
    from palmette.automl.checkpoints import checkpoints as find
    from palmette.automl.checkpoints import fetch_checkpoint

    if id:
        click.echo(clean(f"In {fetch_checkpoint(id)}"))
        return
    table = [
        (
            one.record.id,
            f"{(one.record.parameters or 0) / 1e6:.0f}M",
            f"{one.record.megabytes or 0:g} MB",
            one.record.licence or "not stated",
            str(one.record.downloads or ""),
            f"{one.seconds:g} s",
            "; ".join(one.concerns),
        )
        for one in find(kind, rows, budget)
    ]
    print_table(("network", "parameters", "size", "licence", "downloads", "encoding", "concerns"), table)
