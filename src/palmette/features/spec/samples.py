"""The registry held against the files that it names: paths, columns, types."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from palmette.errors import Problem, nearest
from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View


def check_samples(tables: View | Registry, base: Path) -> tuple[Problem, ...]:
    """What differs between the registered tables and their sample files.

    Args:
        tables: the view, for the tables that it reads, or a registry, for all.
        base: the registry file, or its folder, which paths are relative to.
    """
    chosen = list(tables.tables.values()) if isinstance(tables, View) else list(tables.tables)
    folder, file = (base, "") if base.is_dir() else (base.parent, str(base))
    return tuple(
        Problem(**{**problem.__dict__, "file": file or problem.file})
        for table in chosen
        for problem in _check(table, folder)
    )


def _check(table: Table, folder: Path) -> Iterator[Problem]:
    text = table.sample or table.path
    if text is None or "://" in text:
        return
    path = folder / text
    field = f"{table.name}.{'sample' if table.sample else 'path'}"
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        yield Problem(
            "no-such-file",
            f"Table {table.name!r}: there is no {str(path)!r}.",
            "Paths are relative to the registry.",
            field=field,
            value=text,
            nearest=nearest(path.name, names),
        )
        return
    try:
        found = _schema(table, path)
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        yield Problem(
            "unreadable-sample",
            f"Table {table.name!r}: {str(path)!r} cannot be read as {table.format}: {first}.",
            "Mend the file, or its `format`.",
            field=field,
            value=text,
        )
        return
    if found is not None:
        yield from _compare(table, found)


def _compare(table: Table, found: Mapping[str, SparkType | None]) -> Iterator[Problem]:
    for column in table.columns:
        field = f"{table.name}.columns.{column.name}"
        if column.name not in found:
            unregistered = [name for name in found if table.column(name) is None]
            yield Problem(
                "column-not-in-sample",
                f"Table {table.name!r}: the file has no column {column.name!r}.",
                f"It has {', '.join(list(found)[:12])}.",
                field=field,
                value=column.name,
                nearest=nearest(column.name, unregistered),
            )
            continue
        kind, registered = found[column.name], column.type.parsed
        if kind is not None and kind != registered:
            yield Problem(
                "type-differs-in-sample",
                f"Table {table.name!r}: column {column.name!r} is registered as {registered}, "
                f"and in the file it is {kind}.",
                _remedy(kind),
                field=field,
                value=str(registered),
                nearest=str(kind),
            )


def _remedy(kind: SparkType) -> str:
    hint = " (times written by pandas have no zone)" if kind.name == "timestamp_ntz" else ""
    return f"Register the type {kind}{hint}, or write the file anew."


def _schema(table: Table, path: Path) -> dict[str, SparkType | None] | None:
    """The columns of a file with their types (None: the file does not tell); None for other formats."""
    match table.format:
        case "parquet" | "orc":
            return _arrow_schema(path, table.format)
        case "csv":
            return dict.fromkeys(_header(_first_file(path, "*.csv")))
        case "json":
            return dict.fromkeys(_keys(_first_file(path, "*.json*")))
    return None


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


def _first_file(path: Path, pattern: str) -> Path:
    if path.is_file():
        return path
    first = min(path.rglob(pattern), default=None)
    if first is None:
        raise ValueError(f"the folder has no {pattern} file")
    return first


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines), [])


def _keys(path: Path) -> list[str]:
    """Keys of the first objects: an object may leave out what is null."""
    keys: dict[str, None] = {}
    with path.open(encoding="utf-8-sig") as lines:
        for _, line in zip(range(1000), lines, strict=False):
            if line.strip():
                keys.update(dict.fromkeys(json.loads(line)))
    return list(keys)
