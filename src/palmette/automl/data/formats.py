"""Each format into raw tables: names as they are written, and columns of text or of the types of the file."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import sqlite3
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

import pandas as pd

from palmette.automl.data.artefacts import Dialect, Repair
from palmette.automl.data.columnar import arrow_frame, damaged, frame_of, parquet_frame
from palmette.automl.data.decoding import decode
from palmette.automl.data.delimited import Delimited, Teller, read_delimited, table_of
from palmette.automl.data.dialects import lines_of
from palmette.automl.data.opening import DAMAGE, Opened, most_unpacked
from palmette.automl.data.texts import as_column
from palmette.errors import MachineError

Frame = pd.DataFrame
MOST_CELL = 2**24
"""Bytes of one cell of a database, where cells may be computed."""
MOST_ROWS = 2**20
"""Of a sheet."""
UNSAID = re.compile(rb"<f(?:\s[^<>]*)?(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>|</c>)")
"""In a sheet, a formula with nothing behind it."""
VIRTUAL = 2
"""What SQLite says of a column that it does not store."""
DUCKDB_NEEDS = 2**30
"""Bytes that DuckDB may always take to read a file."""


@dataclass(frozen=True, eq=False)
class Raw:
    """A table as found in a file; its columns are numbered, because names may be missing or repeat."""

    opened: Opened
    member: str
    """File in an archive, sheet or table; empty where there is but one."""
    format: str
    names: tuple[str, ...]
    frame: Frame
    repairs: tuple[Repair, ...] = ()
    dialect: Dialect | None = None
    partition: tuple[tuple[str, str], ...] = ()
    """Name and value of each column that the folders around the file tell, as `year=2024`."""

    @property
    def name(self) -> str:
        return self.member or self.opened.path.name


def read_tables(opened: Opened) -> list[Raw]:
    """The tables of a file; those without rows too.

    Raises:
        InputError: there is none that can be read.
        MachineError: what reads this format is not installed.
    """
    readers = {
        "parquet": _parquet, "arrow": _arrow, "excel": _excel, "sqlite": _sqlite, "duckdb": _duckdb, "text": _text
    }  # fmt: skip
    try:
        found = list(readers[opened.format](opened))
    except ImportError as error:
        message = f"Reading {opened.format} needs {error.name!r}, which is not installed."
        raise MachineError(message, "Install palmette[automl].", code="missing-library") from error
    if not found:
        raise opened.refusal("empty-file", "There are no tables in it.", "Name a file with a table.")
    return [replace(found[0], member=opened.member)] if len(found) == 1 else found


def _raw(opened: Opened, frame: Frame, form: str, member: str = "") -> Raw:
    """A table of a format that has types of its own."""
    opened.require_size(*frame.shape)
    names = tuple(str(name) for name in frame.columns)
    numbered = frame.set_axis(range(frame.shape[1]), axis=1).reset_index(drop=True)
    listed = [place for place, dtype in enumerate(numbered.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    numbered = numbered.astype(dict.fromkeys(listed, object))
    return Raw(opened, member, form, names, numbered)


def _of_text(opened: Opened, table: Delimited, form: str, member: str = "") -> Raw:
    opened.require_size(len(table.columns[0]) if table.columns else 0, len(table.columns))
    frame = pd.DataFrame({place: as_column(texts) for place, texts in enumerate(table.columns)})
    return Raw(opened, member, form, tuple(table.names), frame, tuple(table.repairs), table.dialect)


def _parquet(opened: Opened) -> Iterator[Raw]:
    yield _raw(opened, parquet_frame(opened), "parquet")


def _arrow(opened: Opened) -> Iterator[Raw]:
    yield _raw(opened, arrow_frame(opened), "arrow")


def _excel(opened: Opened) -> Iterator[Raw]:
    openpyxl = importlib.import_module("openpyxl")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and validations, which are not read
            book = openpyxl.load_workbook(io.BytesIO(opened.data), read_only=True, data_only=True)
            sheets = {
                sheet.title: [[_cell(value) for value in row] for row in _rows(opened, sheet)]
                for sheet in book.worksheets
            }
    except DAMAGE as error:
        raise damaged(opened, error) from error
    unsaid = _unsaid(opened)
    for title, rows in sheets.items():
        if any(any(cell.strip() for cell in row) for row in rows):
            tell = Teller(f"{opened.name} ({title})")
            tell(
                "unknown-results",
                unsaid,
                f"the file does not hold what {unsaid} formulas of {opened.name} come to, so they are missing; "
                "it does when a spreadsheet program has saved it",
            )
            yield _of_text(opened, table_of(opened, _box(opened, rows), tell), "excel", title)


def _unsaid(opened: Opened) -> int:
    """How many formulas of a workbook have no result in it, as programs leave them that do not compute."""
    with zipfile.ZipFile(io.BytesIO(opened.data)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
        return sum(len(UNSAID.findall(archive.read(name))) for name in sheets)


def _rows(opened: Opened, sheet: Any) -> Iterator[tuple[object, ...]]:
    """The rows of a sheet that are not empty, whatever it says of its size and their numbers."""
    sheet.reset_dimensions()
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if number == MOST_ROWS:
            message = f"The sheet {sheet.title!r} has a row of a number beyond {MOST_ROWS}, the most of any workbook."
            raise opened.refusal("damaged-file", message, "Write it again, or save the table as CSV.")
        if any(value is not None for value in row):
            yield row


def _box(opened: Opened, rows: list[list[str]]) -> list[list[str]]:
    """The rows without the empty columns and rows around them."""
    width = max(len(row) for row in rows)
    opened.require_size(sum(any(cell.strip() for cell in row) for row in rows), width)
    full = [row + [""] * (width - len(row)) for row in rows if any(cell.strip() for cell in row)]
    used = [place for place in range(width) if any(row[place].strip() for row in full)]
    return [row[used[0] : used[-1] + 1] for row in full]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
    return text.removesuffix(" 00:00:00")


def _sqlite(opened: Opened) -> Iterator[Raw]:
    _require_finished(opened)
    # A journal in WAL mode cannot be used in memory; these two bytes name the mode.
    data = opened.data[:18] + b"\x01\x01" + opened.data[20:]
    connection = sqlite3.connect(":memory:")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        connection.deserialize(data)
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (name,) in found:
            if not name.startswith("sqlite_"):
                quoted = name.replace('"', '""')
                _require_stored(opened, connection, quoted)
                cursor = connection.execute(f'SELECT * FROM "{quoted}"')
                names = [one[0] for one in cursor.description]
                yield _raw(opened, Frame(_cells(opened, name, cursor), columns=names), "sqlite", name)
    except (sqlite3.Error, *DAMAGE) as error:
        raise damaged(opened, error) from error
    finally:
        connection.close()


def _require_finished(opened: Opened) -> None:
    """Raises InputError where a file beside the database holds what belongs into it: rows would be lost unnoticed."""
    for end in ("-wal", "-journal"):
        beside = opened.path.with_name(opened.path.name + end)
        if os.path.isfile(beside) and os.path.getsize(beside):  # noqa: PTH113, PTH202 - whatever the name, it never raises
            message = f"Some of the database is still in {beside.name!r}, beside it."
            remedy = "Close what writes to it, or copy it: sqlite3 FILE 'VACUUM INTO \"copy.sqlite\"'"
            raise opened.refusal("unfinished-database", message, remedy)


def _require_stored(opened: Opened, connection: sqlite3.Connection, table: str) -> None:
    """Raises InputError for a column that is computed when it is read: a short file can ask for work without end."""
    columns = connection.execute(f'PRAGMA table_xinfo("{table}")').fetchall()
    if computed := [str(column[1]) for column in columns if column[6] == VIRTUAL]:
        message = f"The column {computed[0]!r} is computed when it is read."
        raise opened.refusal("not-a-table", message, "Save the table as CSV.", field=computed[0])


def _cells(opened: Opened, table: str, rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """The rows of a table, whose cells may be computed as they are read."""
    most, found, size = most_unpacked(len(opened.data)), list[tuple[object, ...]](), 0
    for row in rows:
        found.append(row)
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if size > most:
            message = f"The cells of {table!r} have more than {most} bytes, from a file of {len(opened.data)}."
            raise opened.refusal("too-large", message, "Save what matters of it as CSV.")
    return found


def _duckdb(opened: Opened) -> Iterator[Raw]:
    import duckdb

    if opened.compression:
        raise opened.refusal("damaged-file", "A compressed DuckDB file is not read.", "Unpack it first.")
    most = max(DUCKDB_NEEDS, most_unpacked(opened.size))
    try:
        with duckdb.connect(str(opened.path), read_only=True) as connection:
            connection.execute(f"SET enable_external_access = false; SET memory_limit = '{most}B'")
            rows = connection.execute(
                "SELECT schema_name, table_name, estimated_size, column_count FROM duckdb_tables() "
                "WHERE NOT internal ORDER BY ALL"
            ).fetchall()
            for schema, name, count, columns in rows:
                opened.require_size(count, columns)
                table = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name))
                frame = frame_of(opened, connection.sql(f"SELECT * FROM {table}").to_arrow_table())
                yield _raw(opened, frame, "duckdb", name if schema == "main" else f"{schema}.{name}")
    except duckdb.OutOfMemoryException as error:
        message = f"Reading it takes more than {most} bytes, from {opened.size}."
        raise opened.refusal("too-large", message, "Save what matters of it as CSV.") from error
    except (duckdb.Error, *DAMAGE) as error:
        raise damaged(opened, error) from error


def _text(opened: Opened) -> Iterator[Raw]:
    decoded = decode(opened)
    start = decoded.text.lstrip()[:1]
    frame, repairs = _json(opened, decoded.text) if start in ("[", "{") else (None, [])
    if frame is not None:
        yield replace(_raw(opened, frame, "json"), repairs=(*decoded.repairs, *repairs))
    else:
        table = read_delimited(opened, decoded.text, decoded.encoding)
        table = table._replace(repairs=[*decoded.repairs, *table.repairs])
        yield _of_text(opened, table, "csv")


def _json(opened: Opened, text: str) -> tuple[Frame | None, list[Repair]]:
    """The table in JSON; None where the text is none."""
    repairs: list[Repair] = []
    try:
        value: Any = json.loads(text)
    except RecursionError as error:
        raise damaged(replace(opened, format="JSON"), error) from error
    except ValueError as error:
        value = _json_lines(text)
        if value is None:
            if re.match(r'\s*(\{\s*"|\[\s*[\[{"\d])', text):
                raise damaged(replace(opened, format="JSON"), error) from error
            return None, []
        lost = sum(1 for line in lines_of(text) if line.strip()) - len(value)
        if lost:
            said = f"{lost} lines of {opened.name} are no JSON objects; they were left out."
            repairs.append(Repair(code="broken-lines", subject=opened.name, count=lost, text=said))
    frame = _json_table(opened, _writable(value, text))
    if frame is None:
        message = "The JSON is no table: neither objects in an array, nor one on each line, nor a list for each column."
        raise opened.refusal("not-a-table", message, "Write an array of objects.")
    return frame, repairs


def _json_lines(text: str) -> list[Any] | None:
    found, bad = [], 0
    for line in lines_of(text):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                found.append(value)
            else:
                bad += 1
    return found if len(found) > 1 and bad <= 0.1 * len(found) + 1 else None


def _writable(value: Any, text: str) -> Any:
    """The value with question marks for halves of characters, which JSON can spell and no file can hold."""
    if r"\ud" not in text.lower():
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _json_table(opened: Opened, value: Any) -> Frame | None:
    if isinstance(value, dict):
        lists = [one for one in value.values() if isinstance(one, list)]
        if lists and len(lists) == len(value) and len({len(one) for one in lists}) == 1 and not _records(lists[0]):
            return Frame({key: pd.Series(one, dtype=object) for key, one in value.items()})
        if value and all(isinstance(one, dict) for one in value.values()):
            if all(map(str.isdecimal, value)) and not any(map(str.isdecimal, chain(*value.values()))):
                return _json_table(opened, [*value.values()])  # a row under each number
            keys = list(dict.fromkeys(key for one in value.values() for key in one))
            opened.require_size(len(keys), len(value))
            return Frame({name: pd.Series([one.get(key) for key in keys], dtype=object) for name, one in value.items()})
        tables = [one for one in lists if _records(one)]
        one = tables[0] if len(tables) == 1 else [value] if not lists else None
        return _json_table(opened, one)
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(one, list) for one in value) and len(value) > 1 and all(isinstance(n, str) for n in value[0]):
        opened.require_size(len(value), max(map(len, value)))
        return Frame(value[1:], columns=value[0], dtype=object) if len({*map(len, value)}) == 1 else None
    if not _records(value):
        return None
    flat = [_flat(one) for one in value]
    names = list(dict.fromkeys(name for one in flat for name in one))
    opened.require_size(len(flat), len(names))
    return Frame({name: pd.Series([one.get(name) for one in flat], dtype=object) for name in names}, columns=names)


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """One level of nested objects becomes `outer.inner`."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": one for inner, one in value.items()}
        else:
            flat[key] = value
    return flat
