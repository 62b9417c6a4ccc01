"""Reading the places of a request; where several tables could be meant, one question."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from palmette.automl.data import Dataset, Places, TableError, Threshold

if TYPE_CHECKING:
    from palmette.automl.data.load import Loaded


def retrieve(places: Places, ask: Callable[[str], str | None], threshold: Threshold | None = None) -> Dataset:
    """The data at the places; with two classes where a threshold makes them of a column's numbers.

    Raises:
        InputError: a file cannot be read as a table.
        TableError: there are several tables, and nobody says which is meant.
        UserError: a named set cannot be had, or there is no such column of numbers.
    """
    from palmette.automl.data.thresholds import in_classes

    loaded = _loaded(places, ask)
    return (in_classes(loaded, threshold) if threshold else loaded).dataset


def _loaded(places: Places, ask: Callable[[str], str | None]) -> Loaded:
    from palmette.automl.data.load import load

    try:
        return load(places.named, places.table)
    except TableError as error:
        if places.table:
            raise
        answer = ask(f"{error.message} Which one is meant: {', '.join(map(repr, error.options))}?")
        chosen = (answer or "").strip().strip("'\"`")
        if chosen not in error.options:
            raise
        return load(places.named, chosen)
