"""Arrow files of untrusted programs: what one unfolds to is known before it is read."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 1 << 26
"""Of a frame, and of the file that holds it."""
MOST_CELLS = 1 << 21
"""Of a frame, those inside arrays and maps among them; the harness sends some hundred rows."""
_MAGIC = b"ARROW1\0\0"


def read_arrow(content: bytes) -> pa.Table:
    """The table of a file in Arrow's format, message by message; its index at the end is not believed.

    ValueError for more than a frame may have, and for what Spark does not write: compression and dictionaries, in which
    a few bytes stand for any number. The cells are not looked at.
    """
    import pyarrow as pa

    if not content.startswith(_MAGIC):
        raise ValueError("it is no Arrow file")
    stream = pa.py_buffer(content).slice(len(_MAGIC))
    cells = size = 0
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "schema":
            continue
        if message.type != "record batch":
            raise ValueError(f"it has a {message.type}, which Spark does not write")
        extent = _extent(bytes(message.metadata))
        cells, size = cells + extent.cells, size + extent.size
    if cells > MOST_CELLS or size > MOST_BYTES:
        raise ValueError(f"a frame of more than {MOST_CELLS} cells, or of {MOST_BYTES >> 20} MB")
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


class _Extent(NamedTuple):
    """The declared extent of a batch, which bounds reading it."""

    cells: int
    size: int


def _extent(metadata: bytes) -> _Extent:
    """Of a message that is a batch, by Arrow's `Message.fbs`; ValueError where it cannot be known."""
    try:
        (message,) = struct.unpack_from("<I", metadata)
        batch = _field(metadata, message, 2)
        if _field(metadata, batch, 3):
            raise ValueError("it is compressed, which Spark does not do")
        nodes, buffers = (_pairs(metadata, _field(metadata, batch, number)) for number in (1, 2))
    except struct.error as error:
        raise ValueError(f"a batch without a size: {error}") from error
    lengths, sizes = [length for length, _ in nodes], [length for _, length in buffers]
    if min([0, *lengths, *sizes]) < 0:
        raise ValueError("a batch of less than nothing")
    return _Extent(sum(lengths), sum(sizes))


def _field(data: bytes, table: int, number: int) -> int:
    """Where a flatbuffer has what a field of a table leads to; 0 where the table lacks it."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, fields)
    at = struct.unpack_from("<H", data, fields + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return table + at + struct.unpack_from("<I", data, table + at)[0] if at else 0


def _pairs(data: bytes, vector: int) -> list[tuple[int, int]]:
    """A vector of two numbers each: of nodes length and nulls, of buffers place and length."""
    count = struct.unpack_from("<I", data, vector)[0] if vector else 0
    return [struct.unpack_from("<qq", data, vector + 4 + 16 * number) for number in range(count)]
