"""Reading the places of a request; where several tables could be meant, one question."""

from __future__ import annotations

from collections.abc import Callable

from palmette.automl.data import Dataset, Places, TableError


def retrieve(places: Places, ask: Callable[[str], str | None]) -> Dataset:
    """The data at the places.

    Raises:
        InputError: a file cannot be read as a table.
        TableError: there are several tables, and nobody says which is meant.
        UserError: a named set cannot be had.
    """
    from palmette.automl.data.load import load

    try:
        return load(places.named, places.table).dataset
    except TableError as error:
        if places.table:
            raise
        answer = ask(f"{error.message} Which one is meant: {', '.join(map(repr, error.options))}?")
        chosen = (answer or "").strip().strip("'\"`")
        if chosen not in error.options:
            raise
        return load(places.named, chosen).dataset
