"""Frames as JSON, in which test cases and the specification's unit tests write values.

Numbers, booleans, strings, arrays and maps are themselves; a decimal is a string (`"12.50"`), a date
`2024-02-29`, a timestamp ISO 8601 with its offset (written as `Z`, read as UTC without one), a timestamp_ntz
ISO 8601 without one, binary base64, and the doubles that JSON lacks are `"NaN"`, `"Infinity"`, `"-Infinity"`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from palmette.features.frame import Frame
from palmette.features.spec.fsc import UnitTest
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema, View


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


def frame_of_unit_test(view: View, given: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, Frame]:
    """All tables of the view by name; tables missing from `given` are empty."""
    return {
        name: frame_of({column.name: column.type.parsed for column in table.columns}, given.get(name, ()))
        for name, table in view.tables.items()
    }


def expected_of_unit_test(view: View, test: UnitTest) -> Frame:
    """The rows that a unit test expects; missing columns become null."""
    named = [name for name in view.output if any(name in row for row in test.expect)]
    schema = {name: view.output[name] for name in named}
    return frame_of(schema, test.expect)


def timestamp_of(text: str) -> datetime:
    """Parses ISO 8601; timestamps without an offset are UTC."""
    return _timestamp(text)


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
        case "date":
            return value.isoformat()
        case "timestamp":
            return timestamp_text(value)
        case "timestamp_ntz":
            return value.isoformat()
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
    """The inverse of `encode`; also accepts dates and timestamps parsed by YAML."""
    if value is None:
        return None
    match kind.name:
        case "decimal":
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale))
        case "date":
            return _day(value)
        case "timestamp":
            return _timestamp(value)
        case "timestamp_ntz":
            return _reading(value)
        case "binary":
            return base64.b64decode(value, validate=True)
        case "float" | "double":
            return float(value)
        case "array" if kind.element is not None:
            return [decode(kind.element, item) for item in value]
        case "map" if kind.element is not None:
            return {str(name): decode(kind.element, item) for name, item in value.items()}
        case "string" | "boolean":
            return _exactly(str if kind.name == "string" else bool, value)
        case _:
            if isinstance(value, bool) or int(value) != value:
                raise ValueError("not a whole number")
            return int(value)


def _exactly(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"not a {kind.__name__}")
    return value


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        raise ValueError("a time where a day is wanted")
    return value if isinstance(value, date) else date.fromisoformat(value)


def _timestamp(value: Any) -> datetime:
    at = _reading(value, zoned=True)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _reading(value: Any, zoned: bool = False) -> datetime:
    if isinstance(value, datetime):
        at = value
    elif isinstance(value, date):
        at = datetime.combine(value, time())
    else:
        at = datetime.fromisoformat(value)
    if at.tzinfo is not None and not zoned:
        raise ValueError("an offset where a wall clock reading is wanted")
    return at
