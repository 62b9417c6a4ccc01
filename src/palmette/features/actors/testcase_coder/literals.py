"""Writes rows as source text, as a programmer would in a test."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema

INDENT = " " * 4
_NULL = "null"


def schema_text(schema: Schema) -> str:
    """A DDL string, as `createDataFrame` takes it."""
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


def rows_text(
    schema: Schema,
    rows: Sequence[Mapping[str, Any]],
    width: int,
    heading: str = "",
    implied: Mapping[str, str] | None = None,
) -> str:
    """Writes rows of JSON values as the helper `frame` reads them, in lines of at most `width` where possible.

    Values that most rows share come first; each row then has its own, after a dash.

    Args:
        implied: Values that a row has where it leaves a column out; null for other columns.
    """
    without = {name: (implied or {}).get(name, _NULL) for name in schema}
    decoded = [decode_row(schema, row) for row in rows]
    texts = [{name: cell_text(kind, row[name]) for name, kind in schema.items()} for row in decoded]
    found = {name: Counter(row[name] for row in texts).most_common(1)[0] for name in schema} if rows else {}
    usual = {name: text for name, (text, count) in found.items() if 2 * count >= len(rows) and text != without[name]}
    own = [{name: text for name, text in row.items() if text != usual.get(name, without[name])} for row in texts]
    lines = wrapped(heading, usual, width)
    for row in own if len(rows) > 1 else ():
        lines += wrapped("-", row, width)
    return "\n".join(f"{INDENT}{line}" for line in lines)


def wrapped(start: str, row: Mapping[str, str], width: int) -> list[str]:
    """The pairs `name=value` of a row, two spaces apart, after `start`."""
    lines = [start]
    for name, text in row.items():
        pair = f"{name}={text}"
        if lines[-1] != start and len(lines[-1]) + 2 + len(pair) > width:
            lines.append(f"  {pair}" if start else pair)
        else:
            lines[-1] += f"{'' if not lines[-1] else ' ' if lines[-1] == start else '  '}{pair}"
    return [line for line in lines if line]


def cell_text(kind: SparkType, value: Any) -> str:
    """A value as text that the helper `value` of the tests reads."""
    match value:
        case None:
            return _NULL
        case datetime():
            return instant_text(value)
        case date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case str():
            is_plain = re.fullmatch(r'[^\s"]+( \S+)*', value) and value.isprintable() and value != _NULL
            return value if is_plain else json.dumps(value, ensure_ascii=False).replace("  ", " \\u0020")
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), default=lambda item: cell_text(kind, item)
    ).replace("  ", " \\u0020")


def instant_text(value: datetime) -> str:
    """A timestamp as the helper `at` reads it, with its offset unless it is UTC."""
    whole = value.second == value.microsecond == 0
    text = value.replace(tzinfo=None).isoformat(sep=" ", timespec="minutes" if whole else "auto")
    offset = value.strftime("%z")
    return f"{text}{offset[:3]}:{offset[3:]}" if value.utcoffset() else text.removesuffix(" 00:00")
