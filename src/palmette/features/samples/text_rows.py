"""Reads tables from text: CSV, and JSON with one object per line, with the values that scripts get from Spark.

Spark silently misreads some files (null for a value of the wrong type, a new row after a line break, swapped columns if
their order differs). Reading such a file raises an error with the location and reason.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote

from palmette.features.frame_json import decode
from palmette.features.spec import RegisteredColumn, SparkType, Table

Columns = tuple[RegisteredColumn, ...]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SHORT = {"Inf": "Infinity", "-Inf": "-Infinity"}  # alternative spellings in CSV


class UnreadableError(ValueError):
    """A difference between a file and the registry, with its location."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def text_files(path: Path) -> list[Path]:
    """The file itself, or the files in a folder that Spark reads, in order."""
    if path.is_file():
        return [path]
    found = {file: file.relative_to(path).parts for file in path.rglob("*") if file.is_file()}
    return sorted(file for file, parts in found.items() if not any(part.startswith(("_", ".")) for part in parts))


def folder_values(table: Table, file: Path) -> dict[str, str]:
    """The texts of partition columns that are in the names of the file's folders (`day=2025-01-01`)."""
    texts = dict(part.split("=", 1) for part in file.parent.parts if "=" in part)
    texts = {each.column: unquote(texts[each.column]) for each in table.partitions if each.column in texts}
    return {name: "" if text == "__HIVE_DEFAULT_PARTITION__" else text for name, text in texts.items()}


def text_rows(table: Table, file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a CSV or JSON file with the registered columns, as values of `palmette.features.frame`.

    Raises:
        UnreadableError: Spark would reject or misread the file.
        OSError: the file does not exist.
    """
    read = _csv_rows if table.format == "csv" else _json_rows
    of_folders = folder_values(table, file)
    columns, folders = (
        tuple(one for one in table.columns if (one.name in of_folders) == is_folder) for is_folder in (False, True)
    )
    with file.open(encoding="utf-8-sig", newline="") as lines:
        try:
            fixed = _row(folders, "in its folder", of_folders, _of_text)
            yield from (row | fixed for row in read(columns, lines))
        except UnreadableError as error:
            raise UnreadableError(f"{file.name}, {error}", error.remedy) from None
        except UnicodeDecodeError as error:
            raise UnreadableError(f"{file.name} is not UTF-8 ({error.reason})", "Write the file as UTF-8.") from None


def _csv_rows(columns: Columns, lines: TextIO) -> Iterator[dict[str, Any]]:
    reader, names = csv.reader(lines, strict=True), [column.name for column in columns]
    end = 0
    try:
        for fields in reader:
            line, end = end + 1, reader.line_num
            if len(fields) < 2 and not "".join(fields).strip():
                continue
            if broken := [name for name, text in zip(names, fields, strict=False) if re.search(r"[\r\n]", text)]:
                raise UnreadableError(
                    f"line {line}: a line break inside a value of {broken[0]!r}, where Spark begins a new row",
                    "Take the line breaks out of the values, or write the table as JSON or Parquet.",
                )
            if line == 1:
                if fields == names:
                    continue
                raise UnreadableError(
                    f"line 1: Spark takes the columns of CSV by their places, and they are {', '.join(fields)}",
                    "Register all columns of the file, in its order.",
                )
            if len(fields) != len(names):
                raise UnreadableError(f"line {line} has {len(fields)} values instead of {len(names)}", "Correct it.")
            yield _row(columns, f"line {line}", dict(zip(names, fields, strict=True)), _of_text)
    except csv.Error as error:
        remedy = "Double the quotes inside quotes, and close those that open."
        raise UnreadableError(f"line {end + 1}: {error}", remedy) from None


def _json_rows(columns: Columns, lines: TextIO) -> Iterator[dict[str, Any]]:
    for line, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            found = json.loads(text, parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError) as error:
            raise UnreadableError(f"line {line} is not JSON: {error}", "Write one object a line.") from None
        if not isinstance(found, dict):
            raise UnreadableError(f"line {line} is not an object", "Write one object a line.")
        yield _row(columns, f"line {line}", found, decode)


def _row(
    columns: Columns, place: str, found: Mapping[str, Any], read: Callable[[SparkType, Any], Any]
) -> dict[str, Any]:
    values = {}
    for column in columns:
        try:
            values[column.name] = read(column.type.parsed, found.get(column.name))
        except (ValueError, ArithmeticError) as error:
            raise UnreadableError(
                f"{place}: {column.name!r} is {column.type}, and {error}",
                "Correct the value, or the type in the registry.",
            ) from None
    return values


def _of_text(kind: SparkType, text: str) -> Any:
    """Parses a CSV field; an empty field, quoted or not, is null."""
    value: object = text
    match kind.name:
        case _ if not text:
            return None
        case "array" | "map":
            raise ValueError("CSV has no such values")
        case "binary":
            return text.encode()
        case "boolean":
            value = {"true": True, "false": False}.get(text.lower(), text)
        case "float" | "double":
            text = _SHORT.get(text, text.strip())
            value = float(text) if _NUMBER.fullmatch(text) else text
        case "decimal" if _NUMBER.fullmatch(text) is None:
            raise ValueError(f"{text!r} is not a decimal number")
        case _ if kind.is_integer and re.fullmatch(r"[+-]?\d+", text, re.ASCII):
            value = int(text)
    return decode(kind, value)
