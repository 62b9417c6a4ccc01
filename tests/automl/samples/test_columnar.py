"""Parquet and Arrow that unfold to far more than their size."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - with pandas
import pyarrow as pa  # noqa: E402 - as above
import pyarrow.parquet as pq  # noqa: E402 - as above

from palmette.automl.samples.load import load  # noqa: E402 - as above
from palmette.errors import InputError  # noqa: E402 - as above

LONG = "x" * 100_000
MANY = 1000
"""So many of them are 100 MB, from a file of which few would be as many as a file may always unpack to."""
VIEW = struct.pack("<i4sii", len(LONG), LONG[:4].encode(), 0, 0)

BOMBS: dict[str, Callable[[], pa.Array]] = {
    "a text": lambda: pa.array([LONG] * MANY),
    "zeros": lambda: pa.array(np.zeros(20_000_000, np.int8)),
    "a run": lambda: pa.RunEndEncodedArray.from_arrays([20_000_000], [1]),
    "nothing": lambda: pa.nulls(20_000_000),
    "a dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array(np.zeros(MANY, np.int8)), [LONG]),
    "views": lambda: pa.Array.from_buffers(
        pa.string_view(), MANY, [None, pa.py_buffer(VIEW * MANY), pa.py_buffer(LONG.encode())]
    ),
    "a long run": lambda: pa.RunEndEncodedArray.from_arrays([MANY], [LONG]),
}
NOT_IN_PARQUET = ("a run", "a long run")
OF_THEIR_SIZE = ("a text", "zeros")
"""In an Arrow file that is not compressed."""


def to_parquet(column: pa.Array, path: Path) -> None:
    pq.write_table(pa.table({"a": column}), path, compression="zstd")


def to_arrow(column: pa.Array, path: Path) -> None:
    table = pa.table({"a": column})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=65_536)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load([path])
    (problem,) = caught.value.problems
    assert problem.remedy and problem.file == str(path)
    return problem.code


@pytest.mark.parametrize("kind", [kind for kind in BOMBS if kind not in NOT_IN_PARQUET])
def test_parquet_that_unfolds_to_much_is_refused(kind: str, tmp_path: Path) -> None:
    to_parquet(BOMBS[kind](), tmp_path / "d.parquet")
    assert refused(tmp_path / "d.parquet") == "too-large"


@pytest.mark.parametrize("kind", [kind for kind in BOMBS if kind not in OF_THEIR_SIZE])
def test_arrow_that_unfolds_to_much_is_refused(kind: str, tmp_path: Path) -> None:
    to_arrow(BOMBS[kind](), tmp_path / "d.arrow")
    assert refused(tmp_path / "d.arrow") == "too-large"


def test_all_that_unfolds_is_read_where_it_is_little(tmp_path: Path) -> None:
    texts = ["red", None, "blue"] * 10
    columns = {
        "size": pa.array(range(30)),
        "text": pa.array(texts),
        "large": pa.array(texts, pa.large_string()),
        "named": pa.array(texts).dictionary_encode(),
        "view": pa.array(texts, pa.string_view()),
        "bytes": pa.array([None if text is None else text.encode() for text in texts]),
        "listed": pa.array([[text] for text in texts]),
    }
    pq.write_table(pa.table(columns), tmp_path / "d.parquet")
    with pa.ipc.new_file(tmp_path / "d.arrow", pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns), max_chunksize=7)
    for path in (tmp_path / "d.parquet", tmp_path / "d.arrow"):
        table = load([path]).table
        assert list(table["size"]) == list(range(30))
        for name in ("text", "large", "named", "view", "bytes"):
            assert list(table[name].fillna("")) == [text or "" for text in texts], (path, name)
        assert list(table["listed"][:2]) == ['["red"]', "[null]"]
