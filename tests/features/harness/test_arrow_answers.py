"""What an Arrow file of a few bytes may stand for is known before it is read."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
import pytest

from palmette.features.harness.arrow_answers import read_arrow

HONEST = pa.table({"n": [1, None, 3], "name": ["a", "", None], "all": [["x"], [], None], "nothing": pa.nulls(3)})


def written(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("table", [HONEST, HONEST.slice(0, 0), pa.concat_tables([HONEST] * 3), pa.table({})])
def test_what_spark_writes_is_read(table: pa.Table) -> None:
    assert read_arrow(written(table)) == table


def nested() -> pa.Table:
    """An array of very many nulls, which take no room."""
    return pa.table({"a": pa.ListArray.from_arrays(pa.array([0, 1 << 30], pa.int32()), pa.nulls(1 << 30))})


def shared() -> pa.Table:
    """A hundred columns of one cell, each the same megabyte."""
    cell = pa.py_buffer(bytes(1 << 20))
    column = pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(struct.pack("2i", 0, 1 << 20)), cell])
    return pa.table({str(number): column for number in range(100)})


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: written(pa.table({"a": pa.nulls(1 << 30)})), "more than"),
        (lambda: written(nested()), "more than"),
        (lambda: written(shared()), "more than"),
        (lambda: written(pa.table({"a": [0] * 100_000}), "zstd"), "compressed"),
        (lambda: written(pa.table({"a": pa.array(["x"] * 1000).dictionary_encode()})), "dictionary"),
        (lambda: b"", "not an Arrow file"),
    ],
    ids=["nulls", "nulls in an array", "one text in many columns", "compressed", "dictionary", "nothing"],
)  # fmt: skip
def test_what_unfolds_to_more_than_a_frame_is_refused(made: Callable[[], bytes], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_arrow(made())


def test_a_damaged_file_is_a_value_error_or_one_of_arrow() -> None:
    whole, chance = written(HONEST), random.Random(1)
    for _ in range(2000):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(8, len(content))] = chance.choice([0, 1, 255, chance.randrange(256)])
        with suppress(ValueError, OSError, pa.ArrowException):
            read_arrow(bytes(content)).validate(full=True)
