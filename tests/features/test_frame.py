"""Frames and Arrow, in both directions."""

import struct

import pyarrow as pa
import pytest

from palmette.features.frame import Frame


@pytest.mark.parametrize(
    ("starts", "cells"),
    [((0, 2, 1 << 30), b"abcd"), ((0, 3, 1), b"abcd"), ((0, -4, 4), b"abcd"), ((0, 2, 4), b"a\xff\xfed")],
    ids=["beyond the end", "backwards", "before the start", "no text"],
)
def test_a_file_that_says_of_its_cells_what_cannot_be(starts: tuple[int, ...], cells: bytes) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema({"name": pa.string()})) as writer:
        writer.write_table(pa.table({"name": ["ab", "cd"]}))
    good = sink.getvalue().to_pybytes()
    damaged = good.replace(struct.pack("3i", 0, 2, 4), struct.pack("3i", *starts)).replace(b"abcd", cells)
    assert damaged != good
    with pytest.raises(pa.ArrowInvalid):
        Frame.from_arrow(pa.ipc.open_file(damaged).read_all())
