"""`palmette search`: papers, pages, documents, models and data sets in the sources of knowledge."""

from __future__ import annotations

from typing import get_args

import click

from palmette.cli.screen import clean, json_option, print_json, print_table
from palmette.knowledge.source import Record, RecordKind
from palmette.knowledge.source import search as search_sources


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(get_args(RecordKind)), default="dataset", show_default=True)
@click.option("--source", "named", multiple=True, metavar="NAME", help="Ask this source, on or not; repeat for more.")
@click.option("--most", type=click.IntRange(1, 100), default=5, show_default=True, help="Entries of each source.")
@json_option
def search(words: tuple[str, ...], kind: RecordKind, named: tuple[str, ...], most: int, as_json: bool) -> None:
    """Search the sources of knowledge.

    Online sources are asked if PALMETTE_KNOWLEDGE is `all` or names them, or with --source. Keys: HF_TOKEN,
    KAGGLE_API_TOKEN (or KAGGLE_USERNAME and KAGGLE_KEY), OPENALEX_API_KEY, and for the source `web` one of SEARXNG_URL,
    BRAVE_API_KEY and TAVILY_API_KEY. PALMETTE_DOCUMENTS names a folder of your own documents.
    """
    results = search_sources(" ".join(words), kind, most, named)
    if as_json:
        print_json([one.model_dump(mode="json") for one in results])
        return
    rows = [_row(record) for result in results for record in result.records]
    if rows:
        print_table(("place", "title", "licence", "size", "downloads"), rows)
    for result in results:
        click.echo(clean(result.note), err=True)


def _row(one: Record) -> tuple[str, str, str, str, str]:
    size = [f"{one.rows:,} rows"] if one.rows else []
    size += [f"{one.parameters / 1e6:.0f}M parameters"] if one.parameters else []
    size += [f"{one.megabytes:g} MB"] if one.megabytes else []
    return one.place, one.title[:60], one.licence, ", ".join(size), str(one.downloads or "")
