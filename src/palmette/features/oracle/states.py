"""Which rows of a table are visible at a timestamp, and the state of each key."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.oracle.clock import timestamp_of
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import nulls_first
from palmette.features.spec.dfr import Table

Row = dict[str, Any]


class Times:
    """Reads a table's time columns as timestamps, in the view's zone."""

    def __init__(self, table: Table, zone: ZoneInfo) -> None:
        self.table = table
        self.zone = zone
        self._unit = {column.name: column.unit for column in table.columns}
        self._timestamp = cache(timestamp_of)

    def at(self, row: Mapping[str, Any], column: str | None) -> datetime | None:
        if column is None:
            return None
        return self._timestamp(row[column], self._unit.get(column), self.zone)

    def event(self, row: Mapping[str, Any]) -> datetime | None:
        """Time of the event, or start of validity; None for a dimension."""
        return self.at(row, self.table.event_time or self.table.valid_from)

    def known(self, row: Mapping[str, Any], timestamp: datetime) -> bool:
        """Whether the row had happened and was available before `timestamp`."""
        times = [column for column in (self.table.event_time, self.table.available_time) if column]
        return all((at := self.at(row, column)) is not None and at < timestamp for column in times)

    def holds(self, row: Mapping[str, Any], timestamp: datetime) -> bool:
        """For scd2: whether valid_from < timestamp <= valid_to."""
        start, end = self.at(row, self.table.valid_from), self.at(row, self.table.valid_to)
        return start is not None and start < timestamp and (end is None or timestamp <= end)


def state(rows: Iterable[Row], times: Times, timestamp: datetime | None) -> list[Row]:
    """The state known just before `timestamp`: one row per key of a snapshot table, the valid rows of an scd2 table.

    For an event table, all rows that had happened and were available.
    """
    if timestamp is None:
        return []
    table = times.table
    known = [row for row in rows if times.known(row, timestamp)]
    if table.kind == "scd2":
        return _newest([row for row in known if times.holds(row, timestamp)], times)
    return _newest(known, times) if table.kind == "snapshot" else known


def _newest(rows: Sequence[Row], times: Times) -> list[Row]:
    """The newest row of each key; raises NotCovered for a tie between different rows."""

    def rank(row: Row) -> tuple[Any, ...]:
        return times.event(row), times.at(row, times.table.available_time)

    states: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        states.setdefault(tuple(row[name] for name in times.table.keys), []).append(row)
    newest = {key: max(found, key=rank) for key, found in states.items()}
    for key, found in states.items():
        if any(row != newest[key] and rank(row) == rank(newest[key]) for row in found):
            raise NotCovered(f"two states of {key} in {times.table.name!r} at the same instant")
    return list(newest.values())


def sort_key(values: Iterable[Any]) -> tuple[Any, ...]:
    """A sort key for ascending order with nulls first."""
    return tuple(map(nulls_first, values))
