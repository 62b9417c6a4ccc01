"""Compares the registry with the files that it names: paths, columns, types."""

import csv
import dataclasses
import json
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from palmette.documents import Located
from palmette.errors import Mistake, nearest
from palmette.features.samples.text_rows import UnreadableError, text_files, text_rows
from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.values import SparkType

_READ = 1000
"""Maximum number of text rows to parse as a test."""


def check_samples(registry: Located[Registry], folder: Path, names: Collection[str] | None = None) -> list[Mistake]:
    """Differences between the registered tables and their sample files.

    Args:
        folder: The folder that the registry's relative paths are relative to.
        names: Tables to compare; all by default.
    """
    tables = [(i, table) for i, table in enumerate(registry.value.tables) if names is None or table.name in names]
    samples = [_Sample(registry, table, f"tables[{i}]", folder) for i, table in tables]
    return [problem for sample in samples for problem in sample.problems()]


class _Sample(NamedTuple):
    registry: Located[Registry]
    table: Table
    field: str
    folder: Path

    def problems(self) -> Iterator[Mistake]:
        table, text = self.table, self.table.sample or self.table.path
        if text is None or "://" in text:
            return
        path, field = self.folder / text, f"{self.field}.{'sample' if table.sample else 'path'}"
        if not path.exists():
            names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
            message, remedy = f"there is no {str(path)!r}.", "Paths are relative to the registry."
            yield self._problem("no-such-file", message, remedy, field, text, nearest(path.name, names))
            return
        try:
            found = _schema(table, path)
        except (OSError, ValueError, csv.Error) as error:
            message = f"{str(path)!r} cannot be read as {table.format}: {_first_sentence(error)}."
            remedy = error.remedy if isinstance(error, UnreadableError) else "Correct the file, or its `format`."
            yield self._problem("unreadable-sample", message, remedy, field, text)
            return
        if found is not None:
            yield from self._compare(found)

    def _compare(self, found: Mapping[str, SparkType | None]) -> Iterator[Mistake]:
        for index, column in enumerate(self.table.columns):
            field = f"{self.field}.columns[{index}]"
            if column.name not in found:
                message, remedy = f"the file has no column {column.name!r}.", f"It has {', '.join(list(found)[:12])}."
                others = [name for name in found if self.table.column(name) is None]
                similar = nearest(column.name, others)
                yield self._problem("column-not-in-sample", message, remedy, f"{field}.name", column.name, similar)
                continue
            kind, registered = found[column.name], column.type.parsed
            if kind is not None and kind != registered:
                message = f"column {column.name!r} is registered as {registered}, and in the file it is {kind}."
                code, at = "type-differs-in-sample", f"{field}.type"
                hint = " (times written by pandas have no zone)" if kind.name == "timestamp_ntz" else ""
                remedy = f"Register the type {kind}{hint}, or write the file anew."
                yield self._problem(code, message, remedy, at, str(registered), str(kind))

    def _problem(
        self, code: str, message: str, remedy: str, field: str, value: str, similar: str | None = None
    ) -> Mistake:
        text = f"Table {self.table.name!r}: {message}"
        return dataclasses.replace(self.registry.problem(code, text, remedy, field=field, value=value), nearest=similar)


def _first_sentence(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.removeprefix("Error creating dataset. ").split(". ")[0].rstrip(".")[:200]


def _schema(table: Table, path: Path) -> dict[str, SparkType | None] | None:
    """The columns of a file with their types (None: unknown type); None for formats without a schema."""
    match table.format:
        case "parquet" | "orc":
            return _arrow_schema(path, table.format)
        case "csv":
            with _first_file(path).open(encoding="utf-8-sig", newline="") as lines:
                header = dict.fromkeys(next(csv.reader(lines), []))
            if all(column.name in header for column in table.columns):
                _try_rows(table, path)
            return header
        case "json":
            _try_rows(table, path)
            return dict.fromkeys(_keys(_first_file(path)))
    return None


def _try_rows(table: Table, path: Path) -> None:
    """Parses the first rows; ValueError if they are unreadable."""
    rows = chain.from_iterable(text_rows(table, file) for file in text_files(path))
    deque(islice(rows, _READ), maxlen=0)


def _arrow_schema(path: Path, file_format: str) -> dict[str, SparkType | None]:
    import pyarrow.dataset

    from palmette.features.frame import spark_type

    partitioning = pyarrow.dataset.partitioning(flavor="hive")
    schema = pyarrow.dataset.dataset(path, format=file_format, partitioning=partitioning).schema
    folders = {entry.name.split("=")[0] for entry in path.rglob("*=*") if entry.is_dir()} if path.is_dir() else set()
    kinds: dict[str, SparkType | None] = {}
    for field in schema:
        try:
            kinds[field.name] = None if field.name in folders else spark_type(field.type)
        except ValueError:
            kinds[field.name] = None
    return kinds


def _first_file(path: Path) -> Path:
    files = text_files(path)
    if not files:
        raise ValueError("the folder has no file")
    return files[0]


def _keys(path: Path) -> list[str]:
    """Keys of the first objects. Several are read, because objects may omit nulls."""
    keys: dict[str, None] = {}
    with path.open(encoding="utf-8-sig") as lines:
        for line in islice(lines, _READ):
            if line.strip():
                keys.update(dict.fromkeys(json.loads(line)))
    return list(keys)
