"""Values as a Python programmer writes them in a test."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema


def schema_text(schema: Schema) -> str:
    """A DDL string, as `createDataFrame` takes it."""
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


def row_text(schema: Schema, row: Mapping[str, Any]) -> str:
    """A row of JSON values as a dict display, without its nulls."""
    values = decode_row(schema, row)
    items = [f"{name!r}: {value_text(kind, values[name])}" for name, kind in schema.items() if values[name] is not None]
    return "{" + ", ".join(items) + "}"


def value_text(kind: SparkType, value: Any) -> str:
    """A value as source text; instants through the helper `at`."""
    match value:
        case datetime():
            return f"at({value.isoformat(sep=' ')!r})"
        case date():
            return f"date({value.year}, {value.month}, {value.day})"
        case Decimal():
            return f"Decimal({format(value, 'f')!r})"
        case float() if value != value or value in (float("inf"), float("-inf")):
            return f"float({str(value)!r})"
        case list() if kind.element is not None:
            element = kind.element
            return "[" + ", ".join("None" if item is None else value_text(element, item) for item in value) + "]"
        case dict() if kind.element is not None:
            element = kind.element
            return "{" + ", ".join(f"{name!r}: {value_text(element, item)}" for name, item in value.items()) + "}"
        case _:
            return repr(value)
