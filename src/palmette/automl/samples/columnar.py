"""Parquet, Arrow and DuckDB into frames, within the bounds on the bytes that a file may unpack to."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from palmette.automl.samples.numbers import EXACT
from palmette.automl.samples.opening import DAMAGE, Opened, most_unpacked
from palmette.automl.samples.text_columns import as_column
from palmette.sandbox.temporary import temporary_folder

CELL = 8  # bytes that a cell takes at least
DUCKDB_NEEDS = 2**30  # bytes that DuckDB may always take to read a file
TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def parquet_frame(opened: Opened) -> pd.DataFrame:
    """The table of a Parquet file; InputError where it is damaged, or unpacks to more than its size allows."""
    try:
        known = pq.ParquetFile(io.BytesIO(opened.data)).metadata
        opened.require_size(known.num_rows, known.num_columns)
        columns = [known.schema.column(place) for place in range(known.num_columns)]
        lists = any(column.max_repetition_level for column in columns)
        cells = _values(opened) if lists else known.num_rows * known.num_columns
        stored = sum(known.row_group(place).total_byte_size for place in range(known.num_row_groups))
        opened.require_bytes(max(stored, cells * CELL))
        # As a dictionary, a text is held once, however many cells it stands in.
        folded = sorted(column.path for column in columns if column.physical_type == "BYTE_ARRAY")
        return _frame(opened, pq.ParquetFile(io.BytesIO(opened.data), read_dictionary=folded).read())
    except (pa.ArrowException, *DAMAGE) as error:
        raise opened.damaged(error) from error


def _values(opened: Opened) -> int:
    """The values of a file with lists, by its footer alone; of a damaged one, Arrow would end the process."""
    import duckdb

    footer = int.from_bytes(opened.data[-8:-4], "little") + 8
    with temporary_folder() as folder:
        file = folder / "footer.parquet"
        file.write_bytes(b"PAR1" + opened.data[-footer:])
        try:
            found = duckdb.connect().execute("SELECT sum(num_values) FROM parquet_metadata(?)", [str(file)]).fetchone()
        except duckdb.Error as error:
            raise ValueError("its metadata cannot be read") from error
    return int(found[0] or 0) if found else 0


def arrow_frame(opened: Opened) -> pd.DataFrame:
    """The table of an Arrow file, batch by batch; InputError as of `parquet_frame`."""
    try:
        with pa.ipc.open_file(pa.py_buffer(opened.data)) as reader:
            batches, size = [], 0
            for place in range(reader.num_record_batches):
                batches.append(reader.get_batch(place))
                for cells in batches[-1].columns:  # a dictionary belongs to the first batch, and the others share it
                    size += (cells.indices if place and pa.types.is_dictionary(cells.type) else cells).nbytes
                opened.require_bytes(size)
            table = pa.Table.from_batches(batches, reader.schema)
        opened.require_size(table.num_rows, table.num_columns)
        return _frame(opened, table)
    except (pa.ArrowException, *DAMAGE) as error:
        raise opened.damaged(error) from error


def duckdb_frames(opened: Opened) -> Iterator[tuple[str, pd.DataFrame]]:
    """Name and rows of each table of a DuckDB file; InputError as of `parquet_frame`."""
    import duckdb

    most = max(DUCKDB_NEEDS, most_unpacked(opened.size))
    if opened.compression:
        raise opened.refusal("damaged-file", "A compressed DuckDB file is not supported.", "Unpack it first.")
    try:
        with duckdb.connect(str(opened.path), read_only=True) as connection:
            connection.execute(f"SET enable_external_access = false; SET memory_limit = '{most}B'")
            tables = connection.execute(
                "SELECT schema_name, table_name, estimated_size, column_count FROM duckdb_tables() "
                "WHERE NOT internal ORDER BY ALL"
            ).fetchall()
            for schema, name, count, columns in tables:
                opened.require_size(count, columns)
                quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name))
                table = connection.sql(f"SELECT * FROM {quoted}").to_arrow_table()
                yield name if schema == "main" else f"{schema}.{name}", _frame(opened, table)
    except duckdb.OutOfMemoryException as error:
        message = f"Reading it takes more than {most} bytes, from {opened.size}."
        raise opened.refusal("too-large", message, "Save the part that matters as CSV.") from error
    except (duckdb.Error, *DAMAGE) as error:
        raise opened.damaged(error) from error


def _frame(opened: Opened, table: Any) -> pd.DataFrame:
    """An Arrow table column by column, because names may repeat; ArrowInvalid where it is not valid."""
    table.validate(full=True)
    pieces = (piece for column in table.columns for piece in column.iterchunks())
    opened.require_bytes(table.num_rows * table.num_columns * CELL + sum(map(_unfolded, pieces)))
    columns = dict(enumerate(map(_column, table.columns)))
    return pd.DataFrame(columns).set_axis(list(table.column_names), axis=1)


def _unfolded(cells: Any) -> int:
    """Bytes of an array with each value as often as a cell has it; zero for types that hold it so."""
    kind, types = cells.type, pa.types
    if types.is_dictionary(kind) and any(hold(kind.value_type) for hold in TEXT_TYPES):
        return pc.sum(pc.binary_length(cells.dictionary).take(cells.indices)).as_py() or 0
    if types.is_string_view(kind) or types.is_binary_view(kind):
        # Of the sixteen bytes of each cell the first four are the length of its text.
        views = np.frombuffer(cells.buffers()[1], np.int32)[4 * cells.offset :][: 4 * len(cells) : 4]
        return int(views.sum(dtype=np.int64))
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        each = max(cells.values.nbytes + _unfolded(cells.values), 1) / max(len(cells.values), 1)
        return int((pc.sum(pc.list_value_length(cells)).as_py() or 0) * each)
    if types.is_struct(kind):
        return sum(_unfolded(cells.field(place)) for place in range(kind.num_fields))
    return _unfolded(cells.values) if types.is_nested(kind) and hasattr(cells, "values") else 0


def _column(cells: Any) -> pd.Series[Any]:
    of = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return as_column(cells.cast(pa.large_string()))
    if pa.types.is_integer(of):
        # Keys that floats, or no type of whole numbers, can hold stay what they are as text.
        ends = pc.min_max(cells).as_py()
        least, most = ends["min"] or 0, ends["max"] or 0
        if max(-least, most) > EXACT and (cells.null_count > 0 or most >= 2**63):
            return as_column(cells.cast(of).cast(pa.large_string()))
    column: pd.Series[Any] = cells.to_pandas(date_as_object=False)
    return column
