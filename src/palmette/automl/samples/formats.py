"""Readers of each format: raw tables with names as in the file, and columns of text or of the types of the file."""

from __future__ import annotations

import importlib
import io
import json
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from palmette.automl.opening import DAMAGE, GRAPHS, Opened, decode, most_unpacked
from palmette.automl.parsing import EXACT, as_column
from palmette.automl.samples import Dialect, Repairs
from palmette.automl.samples.delimited import LINE_END, raw_of, read_delimited, table_in
from palmette.automl.samples.tables import Raw, typed_table
from palmette.errors import MachineError
from palmette.problems import error_of

MOST_CELL = 2**24  # bytes of one cell of a database, where cells may be computed
MOST_ROWS = 2**20  # of a sheet
MOST_BROKEN = 0.1  # share of lines of a JSON file that may be no JSON
DUCKDB_NEEDS = 2**30  # bytes that DuckDB may always take to read a file
CELL = 8  # bytes that a cell takes at least
BATCH = 8192  # rows that are decoded at a time
VIRTUAL = 2  # SQLite's mark of a column that it computes when it is read
MARK = re.compile("^\ufeff+", re.MULTILINE)  # of byte order, also of files that were put below the first
END_OF_FILE = "\x1a"  # on systems that stored no lengths
DECLARED = re.compile(rb"<!(DOCTYPE|ENTITY)", re.I)
NODE, ENDS = "id", ("source", "target")  # of graphs in files of one graph
NumberedRows = list[tuple[int, list[str]]]  # of a sheet: the number and the cells of each row
LIBRARY_ERRORS = (pa.ArrowException, duckdb.Error, sqlite3.Error, *DAMAGE)
Objects = Sequence[Mapping[str, Any]]


def read_tables(opened: Opened) -> list[Raw]:
    """The tables of a file, those without rows too; InputError where none can be read."""
    if opened.format == "text":
        made = _text(opened, *decode(opened.data))
    else:
        try:
            found = list(READERS[opened.format](opened))
        except ImportError as error:
            raise error_of(MachineError, "missing-library/format", opened=opened, error=error) from error
        except LIBRARY_ERRORS as error:
            raise opened.damaged(error) from error
        sheets = [_sheet(opened, name, rows, len(found) > 1) for name, rows in found if isinstance(rows, list) and rows]
        frames = [typed_table(opened, one, name, Repairs()) for name, one in found if isinstance(one, pd.DataFrame)]
        made = sheets or frames
    if not made:
        raise opened.refusal("empty-file/tables")
    return [replace(made[0], member=opened.member)] if len(made) == 1 else made


def _text(opened: Opened, text: str, encoding: str) -> list[Raw]:
    repairs, name = Repairs(), opened.name
    repairs.add("other-encoding", name, not encoding.startswith("utf"), encoding=encoding)
    repairs.add("damaged-characters", name, text.count("\ufffd"))
    repairs.add("nul-characters", name, text.count("\0"))
    text = text.replace("\0", "").rstrip(END_OF_FILE)
    text = MARK.sub("", text) if "\ufeff" in text else text
    frames = _json(opened, text, repairs) if text.lstrip()[:1] in ("[", "{") else []
    tables = [typed_table(opened, frame, member, repairs) for member, frame in frames]
    return tables or [read_delimited(opened, text, encoding, repairs)]


def _json(opened: Opened, text: str, repairs: Repairs) -> Sequence[tuple[str, pd.DataFrame]]:
    """The table, or nodes and edges, in JSON, in an array or on lines; nothing where the text is neither."""
    try:
        value: Any = json.loads(text)
    except RecursionError as error:
        raise opened.damaged(error, "JSON") from error
    except ValueError as error:
        value, lines = [], [line for line in LINE_END.split(text) if line.strip()]
        for line in lines:
            with suppress(ValueError, RecursionError):
                value += [one] if isinstance(one := json.loads(line), dict) else []
        lost = len(lines) - len(value)
        if len(value) < 2 or lost > MOST_BROKEN * len(value) + 1:
            if re.match(r'\s*(\{\s*"|\[\s*[\[{"\d])', text):
                raise opened.damaged(error, "JSON") from error
            return []
        repairs.add("broken-lines", opened.name, lost)
    if r"\ud" in text.lower():  # halves of characters, which JSON can spell and no file can hold
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    frames = _node_link(opened, value) if isinstance(value, dict) else []
    frame = None if frames else _json_table(opened, value)
    if frame is None and not frames:
        raise opened.refusal("not-a-table/json")
    return frames if frame is None else [("", frame)]


def _json_table(opened: Opened, value: Any) -> pd.DataFrame | None:
    """Records, columns by name, a row under each number, or one of these in an envelope."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return _records(opened, [_flattened(record) for record in value])
    if not isinstance(value, dict) or not value:
        return None
    lists = [one for one in value.values() if isinstance(one, list)]
    tables = [one for one in lists if one and all(isinstance(row, dict) for row in one)]
    if len(lists) == len(value) and len({len(one) for one in lists}) == 1 and lists[0] not in tables:
        return pd.DataFrame({key: pd.Series(one, dtype=object) for key, one in value.items()})
    if all(isinstance(one, dict) for one in value.values()):
        if all(map(str.isdecimal, value)) and not any(map(str.isdecimal, chain(*value.values()))):
            return _json_table(opened, [*value.values()])
        opened.require_size(max(map(len, value.values())), len(value))
        return pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in value.items()})
    return _json_table(opened, tables[0] if len(tables) == 1 else [value] if not lists else None)


def _flattened(record: Mapping[str, Any]) -> dict[str, Any]:
    """One level of nested objects becomes `outer.inner`."""
    flat = dict[str, Any]()
    for key, cell in record.items():
        flat |= {f"{key}.{inner}": one for inner, one in cell.items()} if isinstance(cell, dict) else {key: cell}
    return flat


def _records(opened: Opened, records: Objects) -> pd.DataFrame:
    opened.require_size(len(records), len({name for one in records for name in one}))
    return pd.DataFrame(records, dtype=object)


def _node_link(opened: Opened, value: Mapping[str, Any]) -> Sequence[tuple[str, pd.DataFrame]]:
    """Nodes and edges of the node-link JSON of NetworkX; nothing where the value is something else."""
    nodes, edges = value.get("nodes"), value.get("links", value.get("edges"))
    for rows, keys in ((nodes, {NODE}), (edges, {*ENDS})):
        if not isinstance(rows, list) or not all(isinstance(row, dict) and keys <= row.keys() for row in rows):
            return []
    return _graph(opened, nodes or [], edges or [])


def _graph(opened: Opened, nodes: Objects, edges: Objects) -> Sequence[tuple[str, pd.DataFrame]]:
    tables = (("nodes", nodes), ("edges", edges))
    return [(name, _records(opened, rows).infer_objects()) for name, rows in tables if rows]


def _graph_file(opened: Opened) -> Iterator[tuple[str, pd.DataFrame]]:
    """Nodes and edges of GraphML, GEXF or GML, with their attributes."""
    if DECLARED.search(opened.data):  # entities can make a short file endless
        raise opened.refusal("not-a-table/entities")
    networkx, stream = importlib.import_module("networkx"), io.BytesIO(opened.data)
    try:
        if opened.format == "graphml":
            graphs = list(networkx.readwrite.graphml.GraphMLReader()(path=stream))
        elif opened.format == "gexf":
            graphs = [networkx.read_gexf(stream)]
        else:
            graphs = [_gml(networkx, decode(opened.data)[0].splitlines())]
    except networkx.NetworkXException as error:
        raise opened.damaged(error) from error
    if len(graphs) != 1:
        raise opened.refusal("not-a-table/graphs", count=len(graphs))
    nodes = [{NODE: name} | {f"{key}_value" if key == NODE else key: cell for key, cell in _flattened(facts).items()}
             for name, facts in graphs[0].nodes(data=True)]  # fmt: skip
    if all(row.get("label") == str(row[NODE]) for row in nodes):
        nodes = [{key: cell for key, cell in row.items() if key != "label"} for row in nodes]
    edges = [{**_flattened(facts), **dict(zip(ENDS, ends, strict=True))} for *ends, facts in graphs[0].edges(data=True)]
    yield from _graph(opened, nodes, edges)


def _gml(networkx: Any, lines: Sequence[str]) -> Any:
    """The graph of GML, by its labels where they are unique."""
    try:
        return networkx.parse_gml(lines)
    except networkx.NetworkXError:
        return networkx.parse_gml(lines, label="id")


def _excel(opened: Opened) -> Iterator[tuple[str, NumberedRows]]:
    openpyxl = importlib.import_module("openpyxl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and validations, which are not read
        book = openpyxl.load_workbook(io.BytesIO(opened.data), read_only=True, data_only=True)
        yield from [(sheet.title, list(_rows(opened, sheet))) for sheet in book.worksheets]


def _sheet(opened: Opened, title: str, rows: NumberedRows, is_one_of_several: bool) -> Raw:
    """The table in the cells of a sheet."""
    repairs, width = Repairs(), max(len(row) for _, row in rows)
    opened.require_size(len(rows), width)
    full = [row + [""] * (width - len(row)) for _, row in rows]
    used = [place for place in range(width) if any(row[place].strip() for row in full)]
    cells = [row[used[0] : used[-1] + 1] for row in full]
    found = table_in(opened, cells, repairs, Dialect(delimiter="", quote=""))
    form = Dialect(skipped=rows[found.above][0], sheet=title if is_one_of_several else "")
    return raw_of(opened, found, repairs, form, title)


def _rows(opened: Opened, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the rows of a sheet that are not empty, whatever size the sheet states."""
    sheet.reset_dimensions()
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if number == MOST_ROWS:
            raise opened.refusal("damaged-file/rows", sheet=sheet.title, most=MOST_ROWS)
        whole = (isinstance(one, float) and one.is_integer() and abs(one) < EXACT for one in row)
        cells = ["" if one is None else str(int(one) if w else one) for one, w in zip(row, whole, strict=True)]
        if any(cell.strip() for cell in cells):
            yield number, [cell.removesuffix(" 00:00:00") for cell in cells]


def _sqlite(opened: Opened) -> Iterator[tuple[str, pd.DataFrame]]:
    for end in ("-wal", "-journal"):
        beside = opened.path.with_name(opened.path.name + end)
        if beside.is_file() and beside.stat().st_size:
            raise opened.refusal("unfinished-database", beside=beside.name)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        # A journal in WAL mode cannot be used in memory; these two bytes name the mode.
        connection.deserialize(opened.data[:18] + b"\x01\x01" + opened.data[20:])
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (name,) in (one for one in tables if not one[0].startswith("sqlite_")):
            table = quoted(name)
            for column in connection.execute(f"PRAGMA table_xinfo({table})").fetchall():
                if column[6] == VIRTUAL:  # a short file can ask for work without end
                    raise opened.refusal("not-a-table/computed", field=str(column[1]))
            cursor = connection.execute(f"SELECT * FROM {table}")
            yield name, pd.DataFrame(cursor.fetchall(), columns=[one[0] for one in cursor.description])


def quoted(*names: str) -> str:
    """Returns a name as SQL."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _parquet(opened: Opened) -> Iterator[tuple[str, pd.DataFrame]]:
    known = pq.ParquetFile(io.BytesIO(opened.data)).metadata
    opened.require_bytes(sum(known.row_group(place).total_byte_size for place in range(known.num_row_groups)))
    columns = map(known.schema.column, range(known.num_columns))
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = pq.ParquetFile(io.BytesIO(opened.data), read_dictionary=texts)  # holds a repeated text once
    yield "", _frame(opened, file.iter_batches(BATCH), file.schema_arrow)


def _arrow(opened: Opened) -> Iterator[tuple[str, pd.DataFrame]]:
    with pa.ipc.open_file(pa.py_buffer(opened.data)) as file:
        yield "", _frame(opened, map(file.get_batch, range(file.num_record_batches)), file.schema)


def _duckdb(opened: Opened) -> Iterator[tuple[str, pd.DataFrame]]:
    if opened.size != len(opened.data):
        raise opened.refusal("damaged-file/compressed")
    most = max(DUCKDB_NEEDS, most_unpacked(opened.size))
    with duckdb.connect(str(opened.path), read_only=True) as connection:
        connection.execute(f"SET enable_external_access = false; SET memory_limit = '{most}B'")
        query = "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL"
        for schema, name in connection.execute(query).fetchall():
            batches = connection.sql(f"SELECT * FROM {quoted(schema, name)}").to_arrow_reader(BATCH)
            yield name if schema == "main" else f"{schema}.{name}", _frame(opened, batches, batches.schema)


def _frame(opened: Opened, batches: Iterable[Any], schema: pa.Schema) -> pd.DataFrame:
    """Arrow batches column by column, because names may repeat; raises ArrowInvalid for invalid ones.

    The size of a batch is checked before its dictionaries and views are decoded.
    """
    kept, rows, size = list[Any](), 0, 0
    for batch in batches:
        batch.validate(full=True)
        rows += batch.num_rows
        size += max(sum(map(decoded_size, batch.columns)), batch.num_rows * batch.num_columns * CELL)
        opened.require_size(rows, batch.num_columns)
        opened.require_bytes(size)
        kept.append(batch)
    table = pa.Table.from_batches(kept, kept[0].schema if kept else schema)
    return pd.DataFrame(dict(enumerate(map(_column, table.columns)))).set_axis(list(table.column_names), axis=1)


def decoded_size(cells: Any) -> int:
    """Bytes of an Arrow array if each cell held its own value; dictionaries, runs and views share values.

    >>> decoded_size(pa.array(["abc"] * 100).dictionary_encode())
    300
    """
    kind, types = cells.type, pa.types
    if types.is_dictionary(kind):
        return int(_value_sizes(cells.dictionary)[cells.indices.drop_null()].sum())
    if types.is_run_end_encoded(kind):
        return int((_value_sizes(cells.values) * np.diff(cells.run_ends, prepend=0)).sum())
    if types.is_string_view(kind) or types.is_binary_view(kind):
        # Of the 16 bytes of a view, the first four are the length of its text.
        views = np.frombuffer(cells.buffers()[1], np.int32)[4 * cells.offset :][: 4 * len(cells) : 4]
        return int(views.sum(dtype=np.int64))
    if types.is_struct(kind):
        return sum(map(decoded_size, cells.flatten()))
    return int(cells.nbytes) + (decoded_size(cells.values) if hasattr(cells, "values") else 0)


def _value_sizes(values: Any) -> Any:
    """(n,): bytes of each value; their mean for types other than text."""
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if any(holds(values.type) for holds in texts):
        return pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    return np.full(len(values), decoded_size(values) / max(len(values), 1))


def _column(cells: Any) -> pd.Series[Any]:
    of = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return as_column(cells.cast(pa.large_string()))
    cells = cells.cast(of)
    if pa.types.is_integer(of):
        # Keys that floats, or no type of whole numbers, can hold stay what they are as text.
        ends = pc.min_max(cells).as_py()
        least, most = ends["min"] or 0, ends["max"] or 0
        if max(-least, most) > EXACT and (cells.null_count > 0 or most >= 2**63):
            return as_column(cells.cast(pa.large_string()))
    column: pd.Series[Any] = cells.to_pandas(date_as_object=False)
    return column


READERS: Mapping[str, Callable[[Opened], Iterator[tuple[str, pd.DataFrame | NumberedRows]]]] = {
    "parquet": _parquet, "arrow": _arrow, "duckdb": _duckdb, "sqlite": _sqlite, "excel": _excel,
    **dict.fromkeys(GRAPHS, _graph_file),
}  # fmt: skip
"""Readers of binary formats; each yields names and rows of tables."""
