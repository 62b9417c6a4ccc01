"""Cells that hold a file: its content, its path, or a `data:` URL."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd


def file_content(cell: Any) -> bytes | None:
    """Returns the bytes of a cell (a path, a `data:` URL, or bytes); None for a missing value."""
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell)
    if isinstance(cell, str) and cell.startswith("data:"):
        return base64.b64decode(cell.partition(",")[2], validate=True)
    if isinstance(cell, str | Path) and str(cell):
        return Path(cell).read_bytes()
    if isinstance(cell, list | dict) or (cell is not None and cell != "" and not pd.isna(cell)):
        raise ValueError("this is no file")
    return None


def read_once(read: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    """Wraps a reader so that equal cells share one array for as long as it is in use."""
    known: WeakValueDictionary[bytes | str, np.ndarray] = WeakValueDictionary()

    @wraps(read)
    def reader(cell: Any) -> np.ndarray:
        if not isinstance(cell, bytes | str):
            return read(cell)
        found = known.get(cell)
        if found is None:
            found = known[cell] = read(cell)
        return found

    return reader


def features_of(X: pd.DataFrame, make: Callable[[Iterable[Any]], Iterable[np.ndarray]]) -> np.ndarray:
    """Computes features of each column's cells, side by side; an object that occurs again is encoded once."""
    found = []
    for _, cells in X.items():
        known = {id(cell): cell for cell in cells}
        made = dict(zip(known, make(known.values()), strict=True))
        found.append(np.array([made[id(cell)] for cell in cells], dtype="float64"))  # sums must not depend on row count
    return np.hstack(found)
