"""The data files that a path names: itself, or those in a folder. Names only select files; content decides formats."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from palmette.automl.samples.opening import MOST_FILES, refusal, select_data

DEEPEST = 3  # levels of folders that are searched


def data_files(place: Path) -> list[Path]:
    """The file of this path, or the data files of this folder by name; InputError for none, too many, or odd names."""
    try:
        found = sorted(_walk(place)) if place.is_dir() else [place]
    except OSError as error:
        raise refusal(place, "unreadable", f"There is no such path: {error.strerror}.", "Check the path.") from error
    chosen = found if found == [place] else select_data(found)
    if not chosen:
        listed = ", ".join(repr(path.name) for path in found[:5]) or "nothing"
        message = f"There is no data file in this folder; it holds {listed}."
        raise refusal(place, "no-data", message, "Name a folder with CSV, Parquet, JSON, Excel or SQLite files.")
    if len(chosen) > MOST_FILES:
        message = f"This folder holds {len(chosen)} data files; a data set has {MOST_FILES} at most."
        raise refusal(place, "too-many-files", message, "Name the files that matter.")
    for name in map(str, chosen):
        if (shown := name.encode("utf-8", "replace").decode()) != name:
            raise refusal(shown, "no-text", "The name of this file is not text in UTF-8.", "Rename it.")
    return chosen


def _walk(folder: Path) -> Iterable[Path]:
    """Files below a folder; links to folders are not followed, so that no loop is walked."""
    for root, folders, files in os.walk(folder, followlinks=False):
        depth = len(Path(root).relative_to(folder).parts)
        folders[:] = [] if depth + 1 >= DEEPEST else sorted(name for name in folders if not name.startswith("."))
        yield from (Path(root) / name for name in files if not name.startswith((".", "~$")))
