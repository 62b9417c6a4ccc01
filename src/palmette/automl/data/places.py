"""The files that a place names: itself, or the data files in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from palmette.automl.data.opening import MOST_FILES, refusal
from palmette.automl.data.suffixes import of_data

DEEPEST = 3
"""Levels below a folder that are looked into."""


def data_files(place: Path) -> list[Path]:
    """The file of this path, or the data files of this folder in the order of their names.

    Raises:
        InputError: there is none, there are too many to be one data set, or the name of one is no text.
    """
    try:
        if not place.is_dir():
            return _named([place])
    except OSError as error:
        raise refusal(place, "unreadable", f"There is no such path: {error.strerror}.", "Check the path.") from error
    found = sorted(_walk(place))
    chosen = of_data(found)
    if not chosen:
        seen = ", ".join(repr(path.name) for path in found[:5]) or "nothing"
        message = f"There is no data file in this folder; it holds {seen}."
        raise refusal(place, "no-data", message, "Name a folder with CSV, Parquet, JSON, Excel or SQLite files.")
    if len(chosen) > MOST_FILES:
        message = f"This folder holds {len(chosen)} data files; {MOST_FILES} at most make a data set."
        raise refusal(place, "too-many-files", message, "Name the files that matter.")
    return _named(chosen)


def _named(paths: list[Path]) -> list[Path]:
    """The same; what is told of a file names it, and is kept as text."""
    for path in paths:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            shown = str(path).encode("utf-8", "replace").decode()
            raise refusal(shown, "no-text", "The name of this file is not text in UTF-8.", "Rename it.") from None
    return paths


def leads_out(file: Path, folder: Path) -> bool:
    """Whether a file of a folder is a link to something outside: a folder from elsewhere may name any file here."""
    return not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder))


def _walk(folder: Path) -> Iterable[Path]:
    """Files below a folder; links to folders are not followed, so that no loop is walked."""
    for root, folders, files in os.walk(folder, followlinks=False):
        depth = len(Path(root).relative_to(folder).parts)
        folders[:] = [] if depth + 1 >= DEEPEST else sorted(name for name in folders if not name.startswith("."))
        yield from (Path(root) / name for name in files if not name.startswith((".", "~$")))
