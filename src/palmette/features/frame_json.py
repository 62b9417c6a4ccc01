"""Frames as JSON, in which test cases and the specification's unit tests write values.

Numbers, booleans, strings, arrays and maps are themselves; a decimal is a string (`"12.50"`), a date
`2024-02-29`, a timestamp ISO 8601 with its offset (written as `Z`, read as UTC without one), a timestamp_ntz
ISO 8601 without one, binary base64, and the doubles that JSON lacks are `"NaN"`, `"Infinity"`, `"-Infinity"`.
"""

import base64
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from palmette.features.frame import Frame
from palmette.features.spec import Schema, SparkType, UnitTest, View
from palmette.features.spec.literals import to_python

_DAY = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?"
_TIMES = {
    "date": re.compile(_DAY, re.ASCII),
    "timestamp": re.compile(rf"{_DAY}({_CLOCK}(Z|[+-]\d{{2}}:\d{{2}})?)?", re.ASCII),
    "timestamp_ntz": re.compile(rf"{_DAY}({_CLOCK})?", re.ASCII),
}
"""Formats that Spark and Python parse with the same result."""
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def encode_row(schema: Schema, row: Mapping[str, Any]) -> dict[str, Any]:
    """Encodes the row's columns that are in `schema` as JSON values."""
    return {name: encode(kind, row[name]) for name, kind in schema.items() if name in row}


def decode_row(schema: Schema, row: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `encode_row`; missing columns become null.

    Raises:
        ValueError: a value does not fit its column's type, or a column does not exist; the message names it.
    """
    if unknown := [name for name in row if name not in schema]:
        raise ValueError(f"there is no column {unknown[0]!r}")
    values = {}
    for name, kind in schema.items():
        try:
            values[name] = decode(kind, row.get(name))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ValueError(f"{row[name]!r} in column {name!r} is not a {kind}: {error}") from error
    return values


def frame_of(schema: Schema, rows: Iterable[Mapping[str, Any]]) -> Frame:
    """Builds a frame from rows of JSON values."""
    return Frame.of(schema, [decode_row(schema, row) for row in rows])


def expected_of_unit_test(view: View, test: UnitTest) -> Frame:
    """The rows that a unit test expects; missing columns become null."""
    named = [name for name in view.output if any(name in row for row in test.expect)]
    schema = {name: view.output[name] for name in named}
    return frame_of(schema, test.expect)


def timestamp_of(text: str) -> datetime:
    """Parses ISO 8601; timestamps without an offset are UTC."""
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def timestamp_text(timestamp: datetime) -> str:
    """Formats a timestamp as ISO 8601 in UTC."""
    return timestamp.astimezone(UTC).isoformat().replace("+00:00", "Z")


def encode(kind: SparkType, value: Any) -> Any:
    """Encodes a value of type `kind` as JSON."""
    if value is None:
        return None
    match kind.name:
        case "decimal":
            return format(value, "f")
        case "date" | "timestamp_ntz":
            return value.isoformat()
        case "timestamp":
            return timestamp_text(value)
        case "binary":
            return base64.b64encode(value).decode("ascii")
        case "float" | "double" if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case "array" if kind.element is not None:
            return [encode(kind.element, item) for item in value]
        case "map" if kind.element is not None:
            return {name: encode(kind.element, item) for name, item in value.items()}
        case _:
            return value


def decode(kind: SparkType, value: Any) -> Any:
    """The inverse of `encode`; also takes dates, times and NaN as parsers read them. ValueError if one does not fit."""
    if isinstance(value, date):
        value = value.isoformat()
    match kind.name:
        case _ if value is None:
            return None
        case "array" | "map" if kind.element is not None:
            if not isinstance(value, list if kind.name == "array" else dict):
                raise ValueError(f"{value!r} is none")
            if isinstance(value, list):
                return [decode(kind.element, item) for item in value]
            return {decode(SparkType("string"), name): decode(kind.element, item) for name, item in value.items()}
        case "binary":
            return base64.b64decode(value if isinstance(value, str) else "?", validate=True)
        case "float" | "double" if isinstance(value, Decimal | float) or value in _NOT_FINITE:
            return float(value)
        case "date" | "timestamp" | "timestamp_ntz":
            if isinstance(value, str) and _TIMES[kind.name].fullmatch(value) is None:
                raise ValueError(f"{value!r} is not written like '2025-03-31' or '2025-03-31T12:00:00Z'")
        case "string" if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:  # JSON can contain lone surrogates, and frames cannot
                raise ValueError(f"{value!r} has half a character") from None
    return to_python(value, kind)
