"""Caches the features of stateless transformers, which are computed once for all rows by all workers.

A transformer is stateless if its scikit-learn tag `requires_fit` is false. Workers split the rows into pieces; an
idle worker takes the next one.
"""

import fcntl
import hashlib
import io
import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import get_tags

from palmette.automl.calls import Call, build, function_step, source
from palmette.engine.storage import write_whole

PIECE = 64  # rows per piece
TIMED = 16  # rows whose encoding is timed
STORED = "palmette.automl.search.stored_features.stored_rows"
PIPELINE, COLUMNS = "sklearn.pipeline.Pipeline", "sklearn.compose.ColumnTransformer"
MOST_BYTES = 1 << 29  # limit of the features kept between searches


def stored_rows(rows: pd.DataFrame, file: str) -> NDArray[Any]:
    """Looks up the features of rows in a file, by their index."""
    return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False)[rows.index.to_numpy()])


class _Part(NamedTuple):
    """A stateless transformer and its columns."""

    call: Call
    columns: list[str]

    @property
    def key(self) -> str:
        text = f"{self.call.path} {source(self.call)} {self.columns}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def with_stored(encoder: Call, frame: pd.DataFrame, folder: Path) -> Call:
    """Replaces the stateless transformers of an encoder by features stored in `folder`."""
    found = {name: function_step(STORED, file=str(_computed(part, frame, folder))) for name, part in _parts(encoder)}
    if not found:
        return encoder
    made = []
    for name, transformer, columns in encoder.arguments["transformers"]:
        if name in found:
            rest = transformer.arguments["steps"][1:] if transformer.path == PIPELINE else []
            transformer = transformer.where(steps=[("stored", found[name]), *rest]) if rest else found[name]
        made.append((name, transformer, columns))
    return encoder.where(transformers=made)


def sampled_seconds(encoder: Call, frame: pd.DataFrame) -> tuple[float, float]:
    """Times stateless transformers on the first rows; returns the seconds before the first row, and those of all."""
    loading = seconds = 0.0
    for _, part in _parts(encoder):
        begun, transformer, rows = time.monotonic(), build(part.call), frame[part.columns]
        transformer.transform(rows.iloc[:1])  # the first call reads weights
        started = time.monotonic()
        transformer.transform(rows.iloc[:TIMED])
        each = (time.monotonic() - started) / _distinct(rows.iloc[:TIMED])
        loading += started - begun
        seconds += each * _distinct(rows)
    return loading, seconds


def _distinct(rows: pd.DataFrame) -> int:
    """The number of distinct cells: equal texts are encoded once."""
    return len({one if isinstance(one, str) else id(one) for name in rows for one in rows[name]})


def _parts(encoder: Call) -> Iterator[tuple[str, _Part]]:
    if encoder.path != COLUMNS:
        return
    for name, transformer, columns in encoder.arguments["transformers"]:
        first = transformer
        if isinstance(transformer, Call) and transformer.path == PIPELINE:
            first = transformer.arguments["steps"][0][1]
        if isinstance(first, Call) and isinstance(columns, list) and not get_tags(build(first)).requires_fit:
            yield name, _Part(first, columns)


def _computed(part: _Part, frame: pd.DataFrame, folder: Path) -> Path:
    """Returns the file with the features of all rows; computes the pieces that no other worker computes."""
    whole = folder / f"{part.key}.npy"
    if whole.exists():
        return whole
    transformer, cells = build(part.call), frame[part.columns]
    pieces = {folder / f"{part.key}-{start}.npy": start for start in range(0, len(frame), PIECE)}
    for waits in (False, True):
        for path, start in pieces.items():
            with _locked(path, waits) as is_free:
                if is_free and not path.exists():
                    write_array(path, np.asarray(transformer.transform(cells.iloc[start : start + PIECE])))
    write_array(whole, np.concatenate([np.load(path, allow_pickle=False) for path in pieces]))
    write_whole(folder / f"{part.key}.json", json.dumps(part.columns).encode())
    return whole


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Writes an array atomically."""
    content = io.BytesIO()
    np.save(content, values, allow_pickle=False)
    write_whole(path, content.getvalue())


@contextmanager
def _locked(path: Path, waits: bool) -> Iterator[bool]:
    """Locks a piece; yields whether it is free. A worker that ends without writing its piece frees it."""
    with path.with_suffix(".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


class FeatureMemory:
    """Keeps features by transformer and row content, for later searches of this process."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, tuple[list[str], dict[bytes, NDArray[Any]]]] = OrderedDict()

    def lay_out(self, rows: pd.DataFrame, folder: Path) -> None:
        """Writes features to a job's folder where those of all these rows are known."""
        for key, (columns, known) in self._rows.items():
            if {*columns} <= {*rows.columns}:
                contents = contents_of(rows, columns)
                if known.keys() >= {*contents}:
                    write_array(folder / f"{key}.npy", np.stack([known[one] for one in contents]))

    def keep(self, rows: pd.DataFrame, folder: Path) -> None:
        """Keeps the features that a job computed; no code of a language model could write to its folder."""
        for path in sorted(folder.glob("*.json")):
            columns = json.loads(path.read_bytes())
            values = np.load(path.with_suffix(".npy"), allow_pickle=False)
            known = self._rows.setdefault(path.stem, (columns, {}))[1]
            known |= dict(zip(contents_of(rows, columns), values, strict=True))
        size = sum(row.nbytes for _, known in self._rows.values() for row in known.values())
        while len(self._rows) > 1 and size > MOST_BYTES:
            size -= sum(row.nbytes for row in self._rows.popitem(last=False)[1][1].values())


def contents_of(rows: pd.DataFrame, columns: Sequence[str]) -> list[bytes]:
    """Returns a digest of the cells of each row."""
    cells = zip(*(rows[name] for name in columns), strict=True)
    return [hashlib.sha256(repr(one).encode()).digest() for one in cells]
