"""Writes rows as source text, as a programmer would in a test."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from palmette.features.frame_json import decode_row
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import Schema

INDENT = " " * 4
_NULL = "null"


def schema_text(schema: Schema) -> str:
    """A DDL string, as `createDataFrame` takes it."""
    return ", ".join(f"{name} {kind}" for name, kind in schema.items())


class ImpliedCells(NamedTuple):
    """The values of cells that a row leaves out; null where there are none."""

    values: Mapping[str, Any] = MappingProxyType({})
    """By column."""
    follows: Mapping[str, str] = MappingProxyType({})
    """Columns with the value of another column: availability times and days of an event."""
    cutoff: datetime | None = None
    """Timestamps are written relative to it."""

    def equals(self, name: str, row: Mapping[str, Any]) -> bool:
        """Whether a cell has the implied value."""
        other = "" if name in self.values else self.follows.get(name, "")
        implied = row[other] if other in row else self.values.get(name)
        if isinstance(implied, datetime) and not isinstance(row[name], datetime | None):
            implied = implied.astimezone(UTC).date()
        return bool(row[name] == implied)


def rows_text(
    schema: Schema,
    rows: Sequence[Mapping[str, Any]],
    width: int,
    heading: str = "",
    implied: ImpliedCells = ImpliedCells(),  # noqa: B008 - immutable
) -> str:
    """Writes rows of JSON values as the helper `frame` reads them, in lines of at most `width` where possible.

    The first row is the one that is most like the others, which only have what differs from it, after a dash.
    """
    decoded = [decode_row(schema, row) for row in rows]
    texts = [{name: cell_text(kind, row[name], implied.cutoff) for name, kind in schema.items()} for row in decoded]
    stated = [
        {name: row[name] for name in schema if not implied.equals(name, values)}
        for row, values in zip(texts, decoded, strict=True)
    ]

    def differing(first: int) -> list[dict[str, str]]:
        """What each other row has instead of the values of the first."""
        known = stated[first]
        return [
            {name: text for name, text in texts[other].items() if text != known.get(name, "" if name in own else text)}
            for other, own in enumerate(stated)
            if other != first
        ]

    def length(first: int) -> int:
        return sum(len(name) + len(text) for row in (stated[first], *differing(first)) for name, text in row.items())

    if not rows:
        return ""
    best = min(range(len(rows)), key=length)
    lines = wrapped(heading, stated[best], width)
    for row in differing(best):
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


def cell_text(kind: SparkType, value: Any, cutoff: datetime | None = None) -> str:
    """A value as text that the helper `value` of the tests reads."""
    match value:
        case None:
            return _NULL
        case datetime():
            texts = [instant_text(value), *([_relative(value - cutoff)] if cutoff and value.tzinfo else [])]
            return min(reversed(texts), key=len)
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


def _relative(distance: timedelta) -> str:
    """An instant by its distance from the cut-off, in days of 24 hours.

    >>> _relative(timedelta(days=-7, microseconds=-1)), _relative(timedelta(hours=1))
    ('T-7d-1us', 'T+1h')
    """
    days = round(distance / timedelta(days=1))
    seconds = round((distance - timedelta(days=days)).total_seconds())
    rest = distance - timedelta(days=days, seconds=seconds)
    sign = -1 if seconds < 0 else 1
    hours, minute_seconds = divmod(abs(seconds), 3600)
    parts = {"d": days, "h": sign * hours, "m": sign * (minute_seconds // 60), "s": sign * (minute_seconds % 60)}
    parts["us"] = rest // timedelta(microseconds=1)
    return "T" + "".join(f"{amount:+}{unit}" for unit, amount in parts.items() if amount)
