"""Finds tables in folders of files, and computes the statistics of columns for inferring a registry."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.errors import MachineError, UserError
from palmette.features.frame import spark_type
from palmette.features.pyspark.scope import free_name
from palmette.features.samples.text_rows import text_files
from palmette.features.spec.values import SparkType

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".orc": "orc"}
MOST_ROWS = 1_000_000
"""Maximum number of rows to read; of longer tables, only the first rows are read."""
_LEADING_ZERO = re.compile(r"0\d+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TableFiles(NamedTuple):
    """A file, or a folder with the files of one table."""

    name: str
    path: Path
    format: str


def find_tables(paths: Iterable[Path]) -> list[TableFiles]:
    """Finds the tables in files and folders, by name.

    A folder is one table if its files are in `column=value` folders, or are named as parts (`part-0001.parquet`).

    Raises:
        UserError: a path does not exist, or no path contains a table.
    """
    found: dict[str, TableFiles] = {}
    for path in paths:
        if not path.exists():
            raise UserError(f"There is no {str(path)!r}.", "Name files or folders with tables.", code="no-such-file")
        for one in _tables(path):
            name = free_name(one.name, found)
            found[name] = one._replace(name=name)
    if not found:
        kinds = ", ".join(FORMATS)
        raise UserError("No table was found.", f"Name files, or folders with files, of type {kinds}.", code="no-table")
    return [found[name] for name in sorted(found)]


def _tables(path: Path) -> list[TableFiles]:
    if path.is_file():
        kind = FORMATS.get(path.suffix.lower())
        return [TableFiles(_name(path.stem), path, kind)] if kind else []
    entries = sorted(one for one in path.iterdir() if not one.name.startswith((".", "_")) and not one.is_symlink())
    if all("=" in one.name if one.is_dir() else re.match(r"(part|data|chunk|\d)", one.name) for one in entries):
        kinds = {FORMATS[suffix] for one in text_files(path) if (suffix := one.suffix.lower()) in FORMATS}
        if len(kinds) == 1:
            return [TableFiles(_name(path.name), path, kinds.pop())]
    return [table for one in entries for table in _tables(one)]


def snake_case(name: str) -> str:
    """A name in lower case, with underscores between its words.

    >>> snake_case("playedAt"), snake_case("userID")
    ('played_at', 'user_id')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _name(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_").lower() or "table"
    return f"t_{name}" if name[0].isdigit() else name


@dataclass(frozen=True)
class TableColumn:
    """A column and its statistics."""

    name: str
    type: SparkType
    values: pa.ChunkedArray = field(repr=False)

    @cached_property
    def nulls(self) -> int:
        return int(self.values.null_count)

    @cached_property
    def distinct(self) -> int:
        """Number of distinct values; 0 for arrays and maps."""
        import pyarrow.compute as pc

        return 0 if self.type.name in ("array", "map") else int(pc.count_distinct(self.values).as_py())

    @cached_property
    def range(self) -> tuple[Any, Any]:
        """Minimum and maximum of numbers, strings and times."""
        import pyarrow.compute as pc

        found = pc.min_max(self.values).as_py()
        return found["min"], found["max"]

    @property
    def unique(self) -> bool:
        return not self.nulls and 0 < self.distinct == len(self.values)

    @property
    def is_key_like(self) -> bool:
        """Whether the column's type and name are those of a key; a word that ends in `id` may be a flag."""
        if not self.type.is_integer and self.type.name not in ("string", "decimal"):
            return False
        name = snake_case(self.name)
        if re.search(r"(^|_)(id|key|code|uuid|guid|no|nr|number|sk|ref)$", name):
            return True
        return re.search(r"[a-z]{4}id$", name) is not None and (self.unique or self.distinct > 2)


@dataclass(frozen=True)
class TableData:
    """A table's columns and the rows that were read."""

    files: TableFiles
    columns: tuple[TableColumn, ...]
    rows: int
    is_whole: bool
    folders: tuple[str, ...]
    """Partition columns of the folder layout."""
    left_out: tuple[str, ...]
    """Columns with names or types that the registry does not support, with the reason."""
    table: pa.Table = field(repr=False)

    @property
    def name(self) -> str:
        return self.files.name

    def column(self, name: str) -> TableColumn:
        return next(one for one in self.columns if one.name == name)

    def distinct_of(self, names: Sequence[str]) -> int:
        """Number of distinct combinations of values."""
        return int(self.table.group_by(list(names)).aggregate([]).num_rows)


def read_table(files: TableFiles) -> TableData:
    """Reads a table; MachineError if it is unreadable."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    options: dict[str, Any] = {"partitioning": ds.partitioning(flavor="hive") if files.path.is_dir() else None}
    try:
        options["format"] = _csv_format(files.path) if files.format == "csv" else files.format
        data = ds.dataset(files.path, **options)
        if files.format == "json":  # Arrow drops the zones of times.
            texts = [one.with_type(pa.string()) if pa.types.is_timestamp(one.type) else one for one in data.schema]
            data = ds.dataset(files.path, **options, schema=pa.schema(texts))
        rows = data.head(MOST_ROWS + 1)
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        message = f"{str(files.path)!r} cannot be read as {files.format}: {str(error).splitlines()[0]}"
        raise MachineError(message, "Correct the file, or name others.", code="unreadable-table") from error
    rows, is_whole = rows.slice(0, MOST_ROWS), rows.num_rows <= MOST_ROWS
    levels = [part for one in text_files(files.path) for part in one.relative_to(files.path).parts[:-1] if "=" in part]
    folders = tuple(dict.fromkeys(part.split("=")[0] for part in levels))
    unnamed = [name for name in rows.column_names if not _NAME.fullmatch(name)]
    if unnamed and files.format == "csv":  # Spark takes the columns of CSV by their places, so none can be left out.
        message = f"{str(files.path)!r} has a column {unnamed[0]!r}: names are letters, digits and underscores."
        raise MachineError(message, "Rename it, and separate columns by commas.", code="unreadable-table")
    columns, left_out = list[TableColumn](), [f"{name!r} (not a name)" for name in unnamed]
    for name in (name for name in rows.column_names if name not in unnamed):
        values = _day_values(rows[name]) if name in folders else _plain_values(rows[name], files.format)
        try:
            columns.append(TableColumn(name, _type(values.type), values))
        except ValueError:
            left_out.append(f"{name} ({values.type})")
    if not columns:
        message = f"{str(files.path)!r} has no column that the registry can hold: {', '.join(left_out)}"
        raise MachineError(message, "Flatten it, or name others.", code="unreadable-table")
    kept = pa.table({one.name: one.values for one in columns})
    return TableData(files, tuple(columns), rows.num_rows, is_whole, folders, tuple(left_out), kept)


def _csv_format(path: Path) -> Any:
    """Arrow's reader of CSV, with columns of numbers with leading zeros read as strings."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    with text_files(path)[0].open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines)
        names = next(reader, [])
        seen = [row for row, _ in zip(reader, range(1000), strict=False)]
    columns = zip(names, zip_longest(*seen, fillvalue=""), strict=False)
    texts = {name: pa.string() for name, cells in columns if any(map(_LEADING_ZERO.fullmatch, cells))}
    options = pyarrow.csv.ConvertOptions(column_types=texts, strings_can_be_null=True, null_values=[""])
    return ds.CsvFileFormat(convert_options=options)


def _day_values(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Converts a partition column as Spark does: days become dates."""
    import pyarrow as pa

    try:
        return values.cast(pa.date32()) if pa.types.is_string(values.type) else _plain_values(values, "parquet")
    except pa.ArrowInvalid:
        return values


def _plain_values(values: pa.ChunkedArray, file_format: str) -> pa.ChunkedArray:
    """Values without a dictionary; as strings where a text file has no type for them."""
    import pyarrow as pa

    kind = values.type
    if file_format in ("csv", "json") and (pa.types.is_null(kind) or pa.types.is_time(kind)):
        return values.cast(pa.string())
    is_text = file_format == "json" and pa.types.is_string(kind) and values.null_count < len(values)
    for time in (pa.timestamp("us", "UTC"), pa.date32(), pa.timestamp("us")) if is_text else ():
        with contextlib.suppress(pa.ArrowInvalid):
            return values.cast(time)
    return values.cast(kind.value_type) if hasattr(kind, "index_type") else values


def _type(kind: pa.DataType) -> SparkType:
    found = spark_type(kind)
    if found.name == "null":
        raise ValueError("a column without a value")
    return found
