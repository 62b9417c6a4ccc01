"""Reads Arrow files of untrusted programs; their decoded size is checked before they are read."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 1 << 26
"""Size limit of a frame and of the file that contains it."""
MOST_CELLS = 1 << 21
"""Maximum number of cells in a frame, including those in arrays and maps; the harness sends a few hundred rows."""
_MAGIC = b"ARROW1\0\0"


def read_arrow(content: bytes) -> pa.Table:
    """Reads a file in Arrow's format message by message, without relying on the index at its end.

    Raises ValueError for frames above the limits, and for compression and dictionaries, which Spark does not write and
    in which a few bytes can expand to any size. Values are not validated.
    """
    import pyarrow as pa

    if not content.startswith(_MAGIC):
        raise ValueError("it is not an Arrow file")
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
    """The declared size of a batch, which limits what reading it allocates."""

    cells: int
    size: int


def _extent(metadata: bytes) -> _Extent:
    """The size of a record batch from its metadata (Arrow's `Message.fbs`); ValueError if it is malformed."""
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
    """The position of a field's value in a flatbuffer table; 0 if the table lacks the field."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, fields)
    at = struct.unpack_from("<H", data, fields + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return table + at + struct.unpack_from("<I", data, table + at)[0] if at else 0


def _pairs(data: bytes, vector: int) -> list[tuple[int, int]]:
    """A vector of number pairs: length and null count of nodes, offset and length of buffers."""
    count = struct.unpack_from("<I", data, vector)[0] if vector else 0
    return [struct.unpack_from("<qq", data, vector + 4 + 16 * number) for number in range(count)]
