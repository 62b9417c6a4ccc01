"""Compares the registry with the files that it names: paths, columns, types."""

import csv
import json
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from palmette.documents import Located, ProblemCollector
from palmette.errors import Mistake
from palmette.features.samples.text_rows import UnreadableError, folder_values, text_files, text_rows
from palmette.features.spec import RegisteredColumn, Registry, SparkType, Table
from palmette.problems import fault

_READ = 1000  # maximum number of text rows to parse as a test


def check_samples(registry: Located[Registry], folder: Path, names: Collection[str] | None = None) -> list[Mistake]:
    """Differences between the registered tables and their sample files.

    Args:
        folder: The folder that the registry's relative paths are relative to.
        names: Tables to compare; all by default.
    """
    findings = ProblemCollector(registry)
    for index, table in enumerate(registry.value.tables):
        if names is None or table.name in names:
            _check_sample(table, f"tables[{index}]", folder, findings)
    return findings.problems


def _check_sample(table: Table, field: str, folder: Path, findings: ProblemCollector) -> None:
    text = table.sample or table.path
    if text is None or "://" in text:
        return
    path, at, facts = folder / text, f"{field}.{'sample' if table.sample else 'path'}", {"table": table.name}
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        findings.report("no-such-file/sample", at, path.name, names, path=str(path), **facts)
        return
    try:
        found = _schema(table, path)
    except (OSError, ValueError, csv.Error) as error:
        remedy = error.remedy if isinstance(error, UnreadableError) else "Correct the file, or its `format`."
        facts |= {"format": table.format, "why": _first_sentence(error), "remedy": remedy}
        findings.report("unreadable-sample", at, str(path), **facts)
        return
    for index, column in enumerate(table.columns if found is not None else ()):
        _check_column(table, column, f"{field}.columns[{index}]", found or {}, findings)


def _check_column(
    table: Table,
    column: RegisteredColumn,
    field: str,
    found: Mapping[str, SparkType | None],
    findings: ProblemCollector,
) -> None:
    if column.name not in found:
        others = [name for name in found if table.column(name) is None]
        columns = list(found)[:12]
        findings.report("column-not-in-sample", f"{field}.name", column.name, others, table=table.name, columns=columns)
        return
    kind, registered = found[column.name], column.type.parsed
    if kind is not None and kind != registered:
        hint = " (times written by pandas have no zone)" if kind.name == "timestamp_ntz" else ""
        facts = {"table": table.name, "column": column.name}
        problem = fault("type-differs-in-sample", registered, kind=kind, hint=hint, **facts)
        findings.add([replace(problem, nearest=str(kind))], f"{field}.type")


def _first_sentence(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.removeprefix("Error creating dataset. ").split(". ")[0].rstrip(".")[:200]


def _schema(table: Table, path: Path) -> dict[str, SparkType | None] | None:
    """The columns of a file with their types (None: unknown type); None for formats without a schema."""
    match table.format:
        case "parquet" | "orc":
            return _arrow_schema(path, table.format)
        case "csv":
            first = _first_file(path)
            with first.open(encoding="utf-8-sig", newline="") as lines:
                header = dict.fromkeys([*next(csv.reader(lines), []), *folder_values(table, first)])
            if all(column.name in header for column in table.columns):
                _try_rows(table, path)
            return header
        case "json":
            _try_rows(table, path)
            first = _first_file(path)
            return dict.fromkeys([*_keys(first), *folder_values(table, first)])
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
