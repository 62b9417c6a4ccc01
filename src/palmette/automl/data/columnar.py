"""Parquet and Arrow into frames, within the bounds on what a file may unpack to."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pandas as pd

from palmette.automl.data.opening import DAMAGE, Opened, most_unpacked
from palmette.automl.data.texts import as_column
from palmette.errors import InputError

CELL = 8
"""Bytes that a cell takes at least, however it is held in the file."""
TEXTS = "BYTE_ARRAY"
LONGEST = 60
"""Seconds to count the cells of a file."""
COUNTING = """
import io, sys
import pyarrow.parquet as pq
known = pq.ParquetFile(io.BytesIO(sys.stdin.buffer.read())).metadata
groups = [known.row_group(place) for place in range(known.num_row_groups)]
print(sum(group.column(place).num_values for group in groups for place in range(group.num_columns)))
"""
"""A program of its own, to which the end of a Parquet file is given."""
EXACT = 2**53
"""Up to here a float holds every whole number."""


def parquet_frame(opened: Opened) -> pd.DataFrame:
    """The table of a Parquet file.

    Raises:
        InputError: it is damaged, or unpacks to more than its size allows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.ParquetFile(io.BytesIO(opened.data)).metadata
        opened.require_size(known.num_rows, known.num_columns)
        columns = [known.schema.column(place) for place in range(known.num_columns)]
        lists = [column for column in columns if column.max_repetition_level]
        cells = _list_cells(opened) if lists else known.num_rows * known.num_columns
        stored = sum(known.row_group(place).total_byte_size for place in range(known.num_row_groups))
        _require(opened, max(stored, cells * CELL))
        # As a dictionary, a text is held once, however many cells it stands in.
        folded = sorted(column.path for column in columns if column.physical_type == TEXTS)
        table = pq.ParquetFile(io.BytesIO(opened.data), read_dictionary=folded).read()
        return frame_of(opened, table)
    except (pa.ArrowException, *DAMAGE) as error:
        raise damaged(opened, error) from error


def _list_cells(opened: Opened) -> int:
    """How many cells a file with lists says that it has; the library ends the process that asks, if that is damaged.

    Raises:
        ValueError: it is damaged, or does not end.
    """
    footer = int.from_bytes(opened.data[-8:-4], "little") + 8
    command = [sys.executable, "-I", "-c", COUNTING]
    try:
        done = subprocess.run(
            command, input=b"PAR1" + opened.data[-footer:], capture_output=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError("its metadata cannot be read in time") from error
    if done.returncode:
        raise ValueError("its metadata cannot be read")
    return int(done.stdout)


def arrow_frame(opened: Opened) -> pd.DataFrame:
    """The table of an Arrow file, batch by batch; InputError as of `parquet_frame`."""
    import pyarrow as pa

    try:
        with pa.ipc.open_file(pa.py_buffer(opened.data)) as reader:
            batches, size = [], 0
            for place in range(reader.num_record_batches):
                batches.append(reader.get_batch(place))
                size += sum(_held(column, place) for column in batches[-1].columns)
                _require(opened, size)
            table = pa.Table.from_batches(batches, reader.schema)
        opened.require_size(table.num_rows, table.num_columns)
        return frame_of(opened, table)
    except (pa.ArrowException, *DAMAGE) as error:
        raise damaged(opened, error) from error


def _held(cells: Any, batch: int) -> int:
    """Bytes of a column of a batch; a dictionary belongs to the first batch, and the others share it."""
    import pyarrow as pa

    return int((cells.indices if batch and pa.types.is_dictionary(cells.type) else cells).nbytes)


def frame_of(opened: Opened, table: Any) -> pd.DataFrame:
    """An Arrow table column by column, because names may repeat; ArrowInvalid where it says what cannot be."""
    table.validate(full=True)
    _require(
        opened,
        table.num_rows * table.num_columns * CELL
        + sum(_unfolded(piece) for column in table.columns for piece in column.iterchunks()),
    )
    parts = dict(enumerate(map(_column, table.columns)))
    return pd.DataFrame(parts).set_axis(list(table.column_names), axis=1)


def _unfolded(cells: Any) -> int:
    """Bytes of an array with each value as often as a cell has it; zero for kinds that hold it so anyway."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = cells.type
    if pa.types.is_dictionary(kind) and _is_text(kind.value_type):
        return pc.sum(pc.binary_length(cells.dictionary).take(cells.indices)).as_py() or 0
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # Of the sixteen bytes of each cell the first four say how long its text is.
        views = np.frombuffer(cells.buffers()[1], np.int32)[4 * cells.offset :][: 4 * len(cells) : 4]
        return int(views.sum(dtype=np.int64))
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        each = max(cells.values.nbytes + _unfolded(cells.values), 1) / max(len(cells.values), 1)
        return int((pc.sum(pc.list_value_length(cells)).as_py() or 0) * each)
    if pa.types.is_struct(kind):
        return sum(_unfolded(cells.field(place)) for place in range(kind.num_fields))
    if pa.types.is_nested(kind) and hasattr(cells, "values"):
        return _unfolded(cells.values)
    return 0


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_one(kind) for is_one in texts)


def _column(cells: Any) -> pd.Series[Any]:
    import pyarrow as pa

    of = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return as_column(cells.cast(pa.large_string()))
    if pa.types.is_integer(of) and _are_beyond_floats(cells):
        return as_column(cells.cast(of).cast(pa.large_string()))
    column: pd.Series[Any] = cells.to_pandas(date_as_object=False)
    return column


def _are_beyond_floats(cells: Any) -> bool:
    """Whether whole numbers would lose digits in the frame: some have too many, and no type of whole numbers takes all.

    Keys that differ would become one; of text, such digits stay what they are.
    """
    import pyarrow.compute as pc

    ends = pc.min_max(cells).as_py()
    least, most = ends["min"] or 0, ends["max"] or 0
    return max(-least, most) > EXACT and (cells.null_count > 0 or most >= 2**63)


def _require(opened: Opened, size: int) -> None:
    """Raises InputError for more bytes than the file may unpack to."""
    most = most_unpacked(len(opened.data))
    if size > most:
        message = f"Its cells take more than {most} bytes, from a file of {len(opened.data)}."
        raise opened.refusal("too-large", message, "Save what matters of it as CSV.")


def damaged(opened: Opened, error: Exception) -> InputError:
    """What a library raises of bytes that are not what they seem, as an error of the file."""
    reason = "".join(char if char.isprintable() else "?" for char in " ".join(str(error).split())[:200])
    message = f"The {opened.format} file is damaged: {reason}."
    return opened.refusal("damaged-file", message, "Write it again, or save the table as CSV.")
