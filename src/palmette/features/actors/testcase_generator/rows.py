"""Expands rows as a model writes them: arrays under named columns, relative times, and no derived columns."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.frame_json import decode, encode
from palmette.features.frames.calendar import as_value, partition_value
from palmette.features.oracle.clock import MICROSECOND, plus_days, timestamp_of
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec.dfr import RegisteredColumn, Table
from palmette.features.spec.view import View

Row = dict[str, Any]
"""Column to JSON value."""

_MOMENT = re.compile(r"T((?:[+-][0-9]{1,7}(?:us|ms|s|m|h|d))*)")
_STEP = re.compile(r"([+-][0-9]+)([a-z]+)")
_UNITS = {
    "us": MICROSECOND,
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
}


def completed(
    view: View, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any] | Row], cutoff: datetime | None
) -> tuple[Row, ...]:
    """Returns the rows in the form of test cases.

    A row is an array in the order of `columns`, and may be shorter; with lists for values it stands for a row with each
    of them. `T-7d+1us` is relative to `cutoff`, in the column's type; `d` means calendar days of the view's zone. A
    missing availability time becomes the row's own time, or just before the cut-off if that is earlier; a missing
    partition becomes that of the row's time. Unreadable values stay, and are reported when the case is computed.
    """
    zone = ZoneInfo(view.zone)
    named = (dict(row) if isinstance(row, Mapping) else _named(columns, row) for row in rows)
    found = []
    for full in (one for row in named for one in _each(row, table)):
        for name in full:
            full[name] = _value(full[name], table.column(name), cutoff, zone)
        found.append(_with_derived_columns(table, full, cutoff, zone))
    return tuple(found)


def moment(text: str, cutoff: datetime, zone: ZoneInfo) -> datetime | None:
    """Resolves a timestamp relative to the cut-off; None if the text does not have this form.

    >>> from datetime import UTC
    >>> moment("T-1d+12h", datetime(2024, 5, 17, tzinfo=UTC), ZoneInfo("UTC"))
    datetime.datetime(2024, 5, 16, 12, 0, tzinfo=datetime.timezone.utc)
    """
    match = _MOMENT.fullmatch(text.replace(" ", ""))
    if match is None:
        return None
    steps = [(int(amount), unit) for amount, unit in _STEP.findall(match[1])]
    try:
        day = plus_days(cutoff, sum(amount for amount, unit in steps if unit == "d"), zone)
        return sum((amount * _UNITS[unit] for amount, unit in steps if unit != "d"), timedelta()) + day
    except (OverflowError, WouldFail):
        return None


def _named(columns: Sequence[str], values: Sequence[Any]) -> Row:
    """Pairs values with columns. Surplus values get a name that no table has, so that they are reported."""
    names = [*columns, *(f"number {number} of a row" for number in range(len(columns) + 1, len(values) + 1))]
    return dict(zip(names, values, strict=False))


def _each(row: Row, table: Table) -> Iterator[Row]:
    """The rows that a row stands for; lists of unequal lengths stay, and are reported when the case is computed."""
    arrays = {column.name for column in table.columns if column.type.parsed.name == "array"}
    lists = {name: value for name, value in row.items() if isinstance(value, list) and name not in arrays}
    sizes = set(map(len, lists.values()))
    if len(sizes) != 1 or 0 in sizes:
        return iter([row])
    return (row | dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True))


def _value(value: Any, column: RegisteredColumn | None, cutoff: datetime | None, zone: ZoneInfo) -> Any:
    is_time = column is not None and (column.unit or column.type.parsed.name in ("timestamp", "timestamp_ntz", "date"))
    if not isinstance(value, str) or column is None or cutoff is None or not is_time:
        return value
    timestamp = moment(value, cutoff, zone)
    held = None if timestamp is None else as_value(timestamp, column, zone)
    return value if held is None else encode(column.type.parsed, held)


def _with_derived_columns(table: Table, row: Row, cutoff: datetime | None, zone: ZoneInfo) -> Row:
    """The row with its availability time and partition filled in."""
    known = table.column(table.available_time) if table.available_time else None
    if known is not None and known.name not in row:
        at = _timestamp(table, row, table.event_time, zone)
        early = cutoff - MICROSECOND if at is not None and cutoff is not None and at >= cutoff else at
        row[known.name] = encode(known.type.parsed, as_value(early, known, zone))
    for part in table.partitions:
        column = table.column(part.column)
        if column is not None and part.of and column.name not in row:
            at = _timestamp(table, row, getattr(table, part.of), zone)
            row[column.name] = encode(column.type.parsed, partition_value(at, column))
    return row


def _timestamp(table: Table, row: Row, name: str | None, zone: ZoneInfo) -> datetime | None:
    """The event or availability time of the row; None if it has none."""
    column = table.column(name) if name else None
    if column is None:
        return None
    try:
        return timestamp_of(decode(column.type.parsed, row.get(column.name)), column.unit, zone)
    except (NotCovered, ValueError, TypeError, ArithmeticError):
        return None
