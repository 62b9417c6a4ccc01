"""Values as a Python programmer writes them in a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema


def schema_text(schema: Schema) -> str:
    """A DDL string, as `createDataFrame` takes it."""
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


FEW = 2
"""Up to this number of rows, each is written in full."""


def rows_text(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of JSON values without their nulls: a list, or a call of `alike` where half of more than a few agree."""
    texts = [_values(schema, row) for row in rows]
    usual = _usual(schema, texts) if len(texts) > FEW else {}
    own = [_dict({name: text for name, text in row.items() if text != usual.get(name, _NULL)}) for row in texts]
    if usual:
        return f"alike(\n{_lines([_dict(usual), *own])})"
    return f"[\n{_lines(own)}]" if len(own) > 1 else f"[{''.join(own)}]"


_NULL = "None"


def _lines(rows: Sequence[str]) -> str:
    return "".join(f"{row},\n" for row in rows)


def _values(schema: Schema, row: Mapping[str, Any]) -> dict[str, str]:
    values = decode_row(schema, row)
    return {name: value_text(kind, values[name]) for name, kind in schema.items()}


def _usual(schema: Schema, rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """By column, what at least half of the rows have, where that is not null."""
    found = {name: Counter(row[name] for row in rows).most_common(1)[0] for name in schema}
    return {name: text for name, (text, count) in found.items() if 2 * count >= len(rows) and text != _NULL}


def _dict(items: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in items.items()) + "}"


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
