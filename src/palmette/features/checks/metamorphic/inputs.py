"""Frames at one cut-off, and ways to add rows to them that must not matter."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Self
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame, Row
from palmette.features.frames.calendar import as_value, dated
from palmette.features.oracle.clock import timestamp_of
from palmette.features.oracle.states import Times
from palmette.features.spec import RegisteredColumn, Table, View

_FAR = 9_000_000
"""Added to integers to get values that do not occur in the frames."""


@dataclass(frozen=True)
class MetamorphicInput:
    """The frames of a view at one cut-off."""

    view: View
    frames: Mapping[str, Frame]
    cutoff: datetime
    """Time zone aware. For `cutoff: spine`, the cut-off of all spine rows kept."""

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.view.zone)

    @property
    def as_of(self) -> datetime | None:
        """The cut-off argument of the script; None if the spine contains the cut-off."""
        return None if self.view.cutoff == "spine" else self.cutoff

    def with_rows(self, added: Mapping[str, Sequence[Row]]) -> Self | None:
        """The input with further rows; None if there are none to add."""
        if not any(added.values()):
            return None
        frames = {name: frame.with_rows([*frame.rows, *added.get(name, ())]) for name, frame in self.frames.items()}
        return replace(self, frames=frames)

    def tables(self, *kinds: str) -> list[Table]:
        """The view's tables of these kinds, without the spine, whose rows are always output rows."""
        spine = self.view.spine.table if self.view.spine else None
        return [table for name, table in sorted(self.view.tables.items()) if table.kind in kinds and name != spine]


def input_at_one_cutoff(view: View, frames: Mapping[str, Frame], as_of: datetime | None) -> MetamorphicInput | None:
    """The frames at one cut-off; if the spine contains cut-offs, only its rows with the most frequent one.

    Returns None if no spine row has a cut-off.
    """
    if as_of is not None:
        return MetamorphicInput(view, dict(frames), as_of)
    assert view.spine is not None and view.spine.cutoff is not None
    table, column = view.tables[view.spine.table], view.spine.cutoff
    rows = frames[table.name].rows
    times = Times(table, ZoneInfo(view.zone))
    timestamps = [times.at(row, column) for row in rows]
    counted = Counter(timestamp for timestamp in timestamps if timestamp is not None)
    if not counted:
        return None
    chosen = max(counted, key=lambda timestamp: (counted[timestamp], timestamp))
    kept = [row for row, timestamp in zip(rows, timestamps, strict=True) if timestamp == chosen]
    return MetamorphicInput(view, {**frames, table.name: frames[table.name].with_rows(kept)}, chosen)


def at_or_after(column: RegisteredColumn, timestamp: datetime, zone: ZoneInfo) -> Any:
    """The earliest value of a time column that is not before this timestamp."""
    value = as_value(timestamp, column, zone)
    if isinstance(value, datetime) or timestamp_of(value, column.unit, zone) == timestamp:
        return value
    return value + (timedelta(days=1) if isinstance(value, date) else 1)


def moved(table: Table, row: Row, name: str, timestamp: datetime, zone: ZoneInfo) -> dict[str, Any]:
    """The row with another time; partition columns of that time are updated."""
    column = table.column(name)
    assert column is not None
    return dated(table, {**row, name: at_or_after(column, timestamp, zone)}, zone)


def fresh(table: Table, row: Row, name: str, number: int) -> Any:
    """A value for a row's column that does not occur in the frames; None for unsupported types."""
    value, kind = row[name], table.column_types[name].name
    if isinstance(value, bool) or value is None or kind == "tinyint":
        return None
    if isinstance(value, int):
        far = _FAR // 1000 if kind == "smallint" else _FAR
        return far + number if -far < value < far * 100 else value + number + 1
    if isinstance(value, Decimal):
        return value + number + 1
    return f"{value}-new{number}" if isinstance(value, str) else None


def renewed(table: Table, rows: Sequence[dict[str, Any]], held: Sequence[str]) -> list[dict[str, Any]]:
    """Gives rows new keys, except in the columns `held`, so that enforced keys stay unique."""
    free = [key for key in table.keys if key not in held and key != table.event_time]
    result = []
    for number, row in enumerate(rows):
        values = {key: fresh(table, row, key, number) for key in free}
        result.append({**row, **{key: value for key, value in values.items() if value is not None}})
    return result


Relation = Callable[[MetamorphicInput], MetamorphicInput | None]
