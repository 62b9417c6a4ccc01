"""Each format into raw tables: names as in the file, and columns of text or of the types of the file."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import re
import sqlite3
import unicodedata
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pandas as pd

from palmette.automl.kinds import Kind
from palmette.automl.samples.artefacts import ArrayUse, DataFile, Dialect, Role
from palmette.automl.samples.columnar import arrow_frame, duckdb_frames, parquet_frame
from palmette.automl.samples.delimited import Delimited, read_delimited, table_of
from palmette.automl.samples.dialects import LINE_END, decode
from palmette.automl.samples.graph_files import graphml_tables, node_link_tables
from palmette.automl.samples.opening import DAMAGE, Opened
from palmette.automl.samples.repairs import Repairs
from palmette.automl.samples.text_columns import as_column
from palmette.errors import MachineError

MOST_CELL = 2**24  # bytes of one cell of a database, where cells may be computed
MOST_ROWS = 2**20  # of a sheet
MOST_BROKEN = 0.1  # share of lines of a JSON file that may be no JSON
UNRESOLVED = re.compile(rb"<f(?:\s[^<>]*)?(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>|</c>)")  # a formula without a result
VIRTUAL = 2  # SQLite's mark of a column that it computes when it is read
MARK = re.compile("^\ufeff+", re.MULTILINE)  # of byte order, also of files that were put below the first
END = "\x1a"  # of a file, on systems that stored no lengths
REFUSED = re.compile(r"[\[\]<>{}\":,\\\x00-\x1f\x7f]+")  # characters in names that break JSON or tree learners
UNNAMED, LONGEST = re.compile(r"Unnamed: \d+|\s*"), 120  # characters of a name
Frame = pd.DataFrame


@dataclass(frozen=True, eq=False)
class Raw:
    """A table as found in a file; its columns are numbered, because names may be missing or repeat."""

    opened: Opened
    member: str
    """File in an archive, sheet or table; empty where there is but one."""
    format: str
    names: tuple[str, ...]
    """Different, and without characters that libraries refuse."""
    sources: tuple[str, ...]
    """The names that pandas reads from the file."""
    frame: Frame
    repairs: Repairs
    dialect: Dialect | None = None
    partition: tuple[tuple[str, str], ...] = ()
    """Name and value of each column in the names of the folders around the file, as `year=2024`."""
    files: tuple[tuple[str, Kind], ...] = ()
    """Name and kind of each column whose cells are paths of files."""
    arrays: tuple[tuple[str, ArrayUse], ...] = ()
    """Those of them that were made of numbers."""

    @property
    def name(self) -> str:
        return self.member or self.opened.path.name

    def texts(self, name: str) -> pd.Series[Any]:
        """A column as keys."""
        return keys_of(self.frame[self.names.index(name)])

    def file(self, role: Role) -> DataFile:
        """The file, as it is recorded."""
        opened = self.opened
        return DataFile(
            path=str(opened.path), member=self.member, role=role, sha256=opened.sha256, bytes=opened.size,
            format=self.format, compression=opened.compression, dialect=self.dialect, rows=len(self.frame),
        )  # fmt: skip


def keys_of(column: pd.Series[Any]) -> pd.Series[Any]:
    """Text: empty where there is no value, whole numbers without a fraction."""
    texts = column.astype(object).where(column.notna(), "").astype(str).str.strip()
    plain: pd.Series[Any] = texts.str.replace(r"^(-?\d+)\.0$", r"\1", regex=True)
    return plain


def read_tables(opened: Opened) -> list[Raw]:
    """The tables of a file, those without rows too; InputError where none can be read."""
    try:
        found = list(_tables(opened))
    except ImportError as error:
        message = f"Reading {opened.format} needs {error.name!r}, which is not installed."
        raise MachineError(message, "Install palmette[automl].", code="missing-library") from error
    if not found:
        raise opened.refusal("empty-file", "There are no tables in it.", "Name a file with a table.")
    return [replace(found[0], member=opened.member)] if len(found) == 1 else found


def _tables(opened: Opened) -> Iterator[Raw]:
    match opened.format:
        case "parquet":
            yield typed_table(opened, parquet_frame(opened), "parquet")
        case "arrow":
            yield typed_table(opened, arrow_frame(opened), "arrow")
        case "duckdb":
            yield from (typed_table(opened, frame, "duckdb", name) for name, frame in duckdb_frames(opened))
        case "sqlite":
            yield from (typed_table(opened, frame, "sqlite", name) for name, frame in _sqlite(opened))
        case "excel":
            yield from _excel(opened)
        case "graphml":
            yield from (typed_table(opened, frame, "graphml", name) for name, frame in graphml_tables(opened))
        case _:
            yield from _texts(opened)


def typed_table(opened: Opened, frame: Frame, form: str, member: str = "", repairs: Repairs | None = None) -> Raw:
    """A table of a format that has types of its own."""
    opened.require_size(*frame.shape)
    repairs, sources = repairs or Repairs(), pandas_names(list(map(str, frame.columns)))
    frame = frame.set_axis(range(frame.shape[1]), axis=1).reset_index(drop=True)
    listed = [place for place, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    names, frame = clean_names(sources, repairs), frame.astype(dict.fromkeys(listed, object))
    return Raw(opened, member, form, tuple(names), tuple(sources), frame, repairs)


def _of_text(opened: Opened, table: Delimited, form: str, member: str, repairs: Repairs, dialect: Dialect) -> Raw:
    opened.require_size(len(table.columns[0]) if table.columns else 0, len(table.columns))
    frame = Frame({place: as_column(texts) for place, texts in enumerate(table.columns)})
    sources = pandas_names(table.names) if table.header else list(map(str, range(len(table.names))))
    for cell, source in zip(table.names, sources, strict=True) if table.header else ():
        repairs.add("repeated-column-name", source, bool(cell) and source != cell, source=cell[:200])
    names = clean_names(sources, repairs) if table.header else table.names
    return Raw(opened, member, form, tuple(names), tuple(sources), frame, repairs, dialect)


def _texts(opened: Opened) -> Iterator[Raw]:
    text, encoding = decode(opened.data)
    if graph := node_link_tables(opened, text):
        yield from (typed_table(opened, frame, "json", name) for name, frame in graph)
    else:
        yield _text(opened, text, encoding)


def _text(opened: Opened, text: str, encoding: str) -> Raw:
    repairs, name = Repairs(), opened.name
    repairs.add("other-encoding", name, not encoding.startswith("utf"), encoding=encoding)
    repairs.add("damaged-characters", name, text.count("\ufffd"))
    repairs.add("nul-characters", name, text.count("\0"))
    text = text.replace("\0", "").rstrip(END)
    text = MARK.sub("", text) if "\ufeff" in text else text
    frame = _json(opened, text, repairs) if text.lstrip()[:1] in ("[", "{") else None
    if frame is not None:
        return typed_table(opened, frame, "json", repairs=repairs)
    table, dialect = read_delimited(opened, text, encoding, repairs)
    return _of_text(opened, table, "csv", "", repairs, dialect)


def _json(opened: Opened, text: str, repairs: Repairs) -> Frame | None:
    """The table in JSON, in an array or on lines; None where the text is neither."""
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
            return None
        repairs.add("broken-lines", opened.name, lost)
    if r"\ud" in text.lower():  # halves of characters, which JSON can spell and no file can hold
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    frame = _json_table(opened, value)
    if frame is None:
        message = "The JSON is no table: neither objects in an array, nor one on each line, nor a list for each column."
        raise opened.refusal("not-a-table", message, "Write an array of objects.")
    return frame


def _json_table(opened: Opened, value: Any) -> Frame | None:
    """Records, rows below their names, columns by name, a row under each number, or one of these in an envelope."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        flat = [dict[str, Any]() for _ in value]
        for record, made in zip(value, flat, strict=True):
            for key, cell in record.items():  # one level of nested objects becomes `outer.inner`
                made |= (
                    {f"{key}.{inner}": one for inner, one in cell.items()} if isinstance(cell, dict) else {key: cell}
                )
        names = dict.fromkeys(name for one in flat for name in one)
        opened.require_size(len(flat), len(names))
        return Frame(
            {name: pd.Series([one.get(name) for one in flat], dtype=object) for name in names}, columns=[*names]
        )
    if isinstance(value, list):
        rows = len(value) > 1 and all(isinstance(one, list) and len(one) == len(value[0]) for one in value)
        if not rows or not all(isinstance(name, str) for name in value[0]):
            return None
        opened.require_size(len(value), len(value[0]))
        return Frame(value[1:], columns=value[0], dtype=object)
    if not isinstance(value, dict) or not value:
        return None
    lists = [one for one in value.values() if isinstance(one, list)]
    tables = [one for one in lists if one and all(isinstance(row, dict) for row in one)]
    if len(lists) == len(value) and len({len(one) for one in lists}) == 1 and lists[0] not in tables:
        return Frame({key: pd.Series(one, dtype=object) for key, one in value.items()})
    if all(isinstance(one, dict) for one in value.values()):
        if all(map(str.isdecimal, value)) and not any(map(str.isdecimal, chain(*value.values()))):
            return _json_table(opened, [*value.values()])
        keys = dict.fromkeys(key for one in value.values() for key in one)
        opened.require_size(len(keys), len(value))
        columns = {name: pd.Series([one.get(key) for key in keys], dtype=object) for name, one in value.items()}
        return Frame(columns)
    return _json_table(opened, tables[0] if len(tables) == 1 else [value] if not lists else None)


def _excel(opened: Opened) -> Iterator[Raw]:
    openpyxl = importlib.import_module("openpyxl")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and validations, which are not read
            book = openpyxl.load_workbook(io.BytesIO(opened.data), read_only=True, data_only=True)
            sheets = {sheet.title: list(_rows(opened, sheet)) for sheet in book.worksheets}
        with zipfile.ZipFile(io.BytesIO(opened.data)) as archive:
            parts = [name for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
            unresolved = sum(len(UNRESOLVED.findall(archive.read(name))) for name in parts)
    except DAMAGE as error:
        raise opened.damaged(error) from error
    for title, rows in ((title, rows) for title, rows in sheets.items() if rows):
        repairs, width = Repairs(), max(len(row) for _, row in rows)
        repairs.add("unknown-results", f"{opened.name} ({title})", unresolved)
        opened.require_size(len(rows), width)
        full = [row + [""] * (width - len(row)) for _, row in rows]
        used = [place for place in range(width) if any(row[place].strip() for row in full)]
        table = table_of(opened, [row[used[0] : used[-1] + 1] for row in full], repairs)
        dialect = Dialect(header=table.header, skipped=rows[table.above][0])
        yield _of_text(opened, table, "excel", title, repairs, dialect)


def _rows(opened: Opened, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the rows of a sheet that are not empty, whatever size the sheet states."""
    sheet.reset_dimensions()
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if number == MOST_ROWS:
            message = f"The sheet {sheet.title!r} has a row of a number beyond {MOST_ROWS}, the most of any workbook."
            raise opened.refusal("damaged-file", message, "Write it again, or save the table as CSV.")
        whole = (isinstance(one, float) and one.is_integer() and abs(one) < 2**53 for one in row)
        cells = ["" if one is None else str(int(one) if w else one) for one, w in zip(row, whole, strict=True)]
        if any(cell.strip() for cell in cells):
            yield number, [cell.removesuffix(" 00:00:00") for cell in cells]


def _sqlite(opened: Opened) -> Iterator[tuple[str, Frame]]:
    for end in ("-wal", "-journal"):
        beside = opened.path.with_name(opened.path.name + end)
        if os.path.isfile(beside) and os.path.getsize(beside):  # noqa: PTH113, PTH202 - whatever the name, it never raises
            message = f"Some of the database is still in {beside.name!r}, beside it."
            remedy = "Close the program that writes to it, or copy it: sqlite3 FILE 'VACUUM INTO \"copy.sqlite\"'"
            raise opened.refusal("unfinished-database", message, remedy)
    connection = sqlite3.connect(":memory:")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        # A journal in WAL mode cannot be used in memory; these two bytes name the mode.
        connection.deserialize(opened.data[:18] + b"\x01\x01" + opened.data[20:])
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (name,) in (one for one in tables if not one[0].startswith("sqlite_")):
            quoted, rows, size = name.replace('"', '""'), list[tuple[object, ...]](), 0
            for column in connection.execute(f'PRAGMA table_xinfo("{quoted}")').fetchall():
                if column[6] == VIRTUAL:  # a short file can ask for work without end
                    message = f"The column {column[1]!r} is computed when it is read."
                    raise opened.refusal("not-a-table", message, "Save the table as CSV.", field=str(column[1]))
            cursor = connection.execute(f'SELECT * FROM "{quoted}"')
            for row in cursor:  # whose cells may be computed as they are read
                rows.append(row)
                size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
                opened.require_bytes(size)
            yield name, Frame(rows, columns=[one[0] for one in cursor.description])
    except (sqlite3.Error, *DAMAGE) as error:
        raise opened.damaged(error) from error
    finally:
        connection.close()


def pandas_names(cells: Sequence[str]) -> list[str]:
    """The names that `pandas.read_csv` makes of the cells of a header.

    >>> pandas_names(["a", "a", "", "a.1"])
    ['a', 'a.2', 'Unnamed: 2', 'a.1']
    """
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return list(pd.read_csv(io.StringIO(line.getvalue(), newline=""), index_col=False).columns) if cells else []


def clean_names(sources: Sequence[str], repairs: Repairs | None = None) -> list[str]:
    """A name for each column without characters that libraries refuse; the same sources always become the same.

    >>> clean_names(["a", " b[1] ", "Unnamed: 2"])
    ['a', 'b_1', 'column_3']
    """
    names, repairs = list[str](), Repairs() if repairs is None else repairs
    for number, source in enumerate(sources, 1):
        bare = source.lstrip("# ") if number == 1 else source  # of a header that is a comment
        plain = "" if UNNAMED.fullmatch(bare) else _plain(bare)
        name = base = plain or f"column_{number}"
        count = 2
        while name in names or (name != source and name in sources):
            name, count = f"{base}_{count}", count + 1
        names.append(name)
        code = "column-name" if plain else "nameless-column"
        repairs.add(code, name, name != source, source=source[:200], number=number)
    return names


def _plain(text: str) -> str:
    clean = " ".join(REFUSED.sub("_", unicodedata.normalize("NFC", text).strip()).split())
    clean = clean if clean == text else clean.rstrip("_ ") or clean.strip("_ ")
    return clean[:LONGEST].rstrip()
