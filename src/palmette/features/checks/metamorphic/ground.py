"""Frames of one cut-off, and the ways to add rows to them that must not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame, Row
from palmette.features.spec.dfr import Table
from palmette.features.spec.view import View

_SECOND = {"s": 1_000_000, "ms": 1_000, "us": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAR = 9_000_000
"""Added to integers so that they equal no value of the frames."""


@dataclass(frozen=True)
class Ground:
    """The frames of a view at one cut-off."""

    view: View
    frames: Mapping[str, Frame]
    cutoff: datetime
    """Aware. For `cutoff: spine`, the cut-off of every spine row that was kept."""

    @property
    def as_of(self) -> datetime | None:
        """What the script is called with; None where the spine carries the cut-off."""
        return None if self.view.cutoff == "spine" else self.cutoff

    def with_rows(self, added: Mapping[str, Sequence[Row]]) -> Ground | None:
        """With further rows in some tables; None when there are none to add."""
        if not any(added.values()):
            return None
        frames = {name: frame.with_rows([*frame.rows, *added.get(name, ())]) for name, frame in self.frames.items()}
        return replace(self, frames=frames)

    def tables(self, *kinds: str) -> list[Table]:
        """The view's tables of these kinds that are not its spine: their rows are never output rows."""
        spine = self.view.spine.table if self.view.spine else None
        return [table for name, table in sorted(self.view.tables.items()) if table.kind in kinds and name != spine]


def ground_of(view: View, frames: Mapping[str, Frame], as_of: datetime | None) -> Ground | None:
    """The frames at one cut-off; where the spine carries cut-offs, with the rows of the most frequent one.

    None when the spine has no row with a cut-off.
    """
    if as_of is not None:
        return Ground(view, dict(frames), as_of)
    assert view.spine is not None and view.spine.cutoff is not None
    table, column = view.tables[view.spine.table], view.spine.cutoff
    rows = frames[table.name].rows
    instants = [instant_of(table, column, row[column], view.zone) for row in rows]
    counted = Counter(instant for instant in instants if instant is not None)
    if not counted:
        return None
    chosen = max(counted, key=lambda instant: (counted[instant], instant))
    kept = [row for row, instant in zip(rows, instants, strict=True) if instant == chosen]
    return Ground(view, {**frames, table.name: frames[table.name].with_rows(kept)}, chosen)


def instant_of(table: Table, column: str, value: Any, zone: str) -> datetime | None:
    """The instant that a time column's value stands for (`ViewSource` says how)."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    registered = table.column(column)
    unit = registered.unit if registered and registered.unit else "s"
    return _EPOCH + timedelta(microseconds=int(value) * _SECOND[unit])


def at_or_after(table: Table, column: str, instant: datetime, zone: str) -> Any:
    """The earliest value of a time column that stands for `instant` or later."""
    registered = table.column(column)
    assert registered is not None
    local = instant.astimezone(ZoneInfo(zone))
    match registered.type.parsed.name:
        case "timestamp":
            return instant.astimezone(UTC)
        case "timestamp_ntz":
            return local.replace(tzinfo=None)
        case "date":
            midnight = (local.hour, local.minute, local.second, local.microsecond) == (0, 0, 0, 0)
            return local.date() + timedelta(days=0 if midnight else 1)
        case _:
            step = _SECOND[registered.unit or "s"]
            return -(-((instant - _EPOCH) // timedelta(microseconds=1)) // step)


def moved(table: Table, row: Row, column: str, instant: datetime, zone: str) -> dict[str, Any]:
    """The row at another time; partition columns follow the time that they hold the day of."""
    changed = {**row, column: at_or_after(table, column, instant, zone)}
    role = "event_time" if column == table.event_time else "available_time"
    for partition in table.partitions:
        registered = table.column(partition.column)
        if partition.of == role and registered is not None:
            day = (instant_of(table, column, changed[column], zone) or instant).date()
            changed[partition.column] = day if registered.type.parsed.name == "date" else day.isoformat()
    return changed


def fresh(value: Any, number: int) -> Any:
    """A value of the same type that the frames do not have; None for a type without an obvious one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return _FAR + number if -_FAR < value < _FAR * 100 else value + number + 1
    if isinstance(value, Decimal):
        return value + number + 1
    return f"{value}-new{number}" if isinstance(value, str) else None


def renewed(table: Table, rows: Sequence[dict[str, Any]], held: Sequence[str]) -> list[dict[str, Any]]:
    """Rows whose keys are new, but for the columns `held`, so that a key that is enforced stays unique."""
    free = [key for key in table.keys if key not in held and key != table.event_time]
    result = []
    for number, row in enumerate(rows):
        values = {key: fresh(row[key], number) for key in free}
        result.append({**row, **{key: value for key, value in values.items() if value is not None}})
    return result


def distinct_by(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """The first row of every combination of values."""
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        seen.setdefault(tuple(row[column] for column in columns), row)
    return list(seen.values())


Relation = Callable[[Ground], Ground | None]
