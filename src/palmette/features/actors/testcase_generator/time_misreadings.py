"""Common misreadings of time and rows, as references that compute windows, states and ages wrongly."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame
from palmette.features.frames.calendar import as_value
from palmette.features.oracle.clock import MICROSECOND, timestamp_of, window_start
from palmette.features.oracle.reference import Reference, ReferenceCache, longest_window
from palmette.features.oracle.states import Row, Times
from palmette.features.spec import AS_OF, Aggregate, Expression, Lookup, Table, View, ViewFeature, Window


def _known_until(by: timedelta, *kinds: str) -> type[Reference]:
    """Sees rows of tables of these kinds that were available as if they had happened earlier by `by`."""

    class ShiftedCutoff(Reference):
        def visible(self, rows: list[Row], times: Times, cutoff: datetime | None) -> list[Row]:
            known = times.table.available_time
            if cutoff is None or times.table.kind not in kinds:
                return super().visible(rows, times, cutoff)
            available = [row for row in rows if known is None or ((at := times.at(row, known)) and at < cutoff)]
            return super().visible(available, times, cutoff + by)

    return ShiftedCutoff


_A_CENTURY = timedelta(days=36525)
_Inclusive = _known_until(MICROSECOND, "event", "snapshot", "scd2")
_OldStates = _known_until(timedelta(days=-1), "snapshot", "scd2")
_Future = _known_until(_A_CENTURY, "event")
_LatestStates = _known_until(_A_CENTURY, "snapshot", "scd2")


def known_then(name: str) -> type[Reference]:
    """Sees rows of this table that become available exactly at the cut-off."""

    class Late(Reference):
        def visible(self, rows: list[Row], times: Times, cutoff: datetime | None) -> list[Row]:
            late = cutoff + MICROSECOND if cutoff and times.table.name == name else cutoff
            seen = super().visible(rows, times, late)
            return [row for row in seen if cutoff is None or (at := times.event(row)) is None or at < cutoff]

    return Late


def _windows_begin(start_of: Callable[[datetime], datetime], *, by_availability: bool = False) -> type[Reference]:
    """Starts windows at another time, or applies them to the availability time instead of the event time."""

    class ShiftedWindow(Reference):
        def within(self, rows: Iterable[Row], times: Times, window: Window, cutoff: datetime) -> Iterable[Row]:
            start = window_start(cutoff, window, self.zone)
            column = times.table.available_time
            if start is None or (by_availability and column is None):
                return super().within(rows, times, window, cutoff)
            moments = ((times.at(row, column) if by_availability and column else times.event(row), row) for row in rows)
            return [row for at, row in moments if at is not None and at >= start_of(start)]

    return ShiftedWindow


_Exclusive = _windows_begin(lambda start: start + MICROSECOND)
_WholeDays = _windows_begin(lambda start: start.replace(hour=0, minute=0, second=0, microsecond=0))
_ByAvailability = _windows_begin(lambda start: start, by_availability=True)


class _FirstStates(Reference):
    """Uses the first state instead of the newest."""

    def visible(self, rows: list[Row], times: Times, cutoff: datetime | None) -> list[Row]:
        if times.table.kind != "snapshot" or cutoff is None:
            return super().visible(rows, times, cutoff)
        known = [(at, row) for row in rows if (at := times.event(row)) is not None and at < cutoff]
        known.sort(key=lambda pair: pair[0], reverse=True)
        return list({tuple(row[key] for key in times.table.keys): row for _, row in known}.values())


def ties_by_position(sign: int) -> type[Reference]:
    """Decides ties by position in the table: the last row counts as the latest, or the first if `sign` is negative."""

    class ByPosition(Reference):
        def matching(
            self, computation: Aggregate | Expression, row: Row, cutoff: datetime | None
        ) -> tuple[list[Row], Times]:
            rows, times = super().matching(computation, row, cutoff)
            _, *ties = computation.order or ("",) if isinstance(computation, Aggregate) else ("",)
            places = [(each, -sign if each.endswith(" desc") else sign) for each in ties]
            return [
                {**row, **{each.split()[0]: number * by for each, by in places}} for number, row in enumerate(rows)
            ], times

    return ByPosition


class WithoutKeys(Reference):
    """Gives events without a key a row of the output."""

    def keys(self) -> Iterable[Row]:
        grain = tuple(self.view.grain)
        for source in self.view.sources:
            if (window := longest_window(self.view, source)) is not None and self.as_of is not None:
                known = self.known(source.name, self.as_of)
                rows = self.within(known.rows, known.times, window, self.as_of)
                lacking = [row for row in rows if any(row[name] is None for name in grain)]
                if lacking:
                    return [*super().keys(), {**{name: lacking[0][name] for name in grain}, AS_OF: self.as_of}]
        return super().keys()


class _SinceFirst(Reference):
    """Measures ages from the first event."""

    def matching(
        self, computation: Aggregate | Expression, row: Row, cutoff: datetime | None
    ) -> tuple[list[Row], Times]:
        rows, times = super().matching(computation, row, cutoff)
        dated = [(at, each) for each in rows if (at := times.event(each)) is not None]
        return [each for at, each in dated if at == min(dated, key=itemgetter(0))[0]], times


def _measured_by(kind: type[Times]) -> type[Reference]:
    """Measures ages from other times of the events."""

    class Measured(Reference):
        def matching(
            self, computation: Aggregate | Expression, row: Row, cutoff: datetime | None
        ) -> tuple[list[Row], Times]:
            rows, times = super().matching(computation, row, cutoff)
            return rows, kind(times.table, self.zone)

    return Measured


class _HalfADayEarlier(Times):
    def event(self, row: Mapping[str, Any]) -> datetime | None:
        return at - timedelta(hours=12) if (at := super().event(row)) else None


class _Available(Times):
    def event(self, row: Mapping[str, Any]) -> datetime | None:
        return self.at(row, self.table.available_time) if self.table.available_time else super().event(row)


def beside(table: Table, name: str, by: timedelta) -> type[Reference]:
    """Adds a second table, called `name`, whose states begin and end earlier by `by`."""

    class Beside(Reference):
        def __init__(
            self, view: View, frames: Mapping[str, Frame], as_of: datetime | None, shared: ReferenceCache | None = None
        ) -> None:
            moved = [_moved(table, row, by, ZoneInfo(view.zone)) for row in frames[table.name].rows]
            super().__init__(view, {**frames, name: frames[table.name].with_rows(moved)}, as_of)

    return Beside


def _moved(table: Table, row: Mapping[str, Any], by: timedelta, zone: ZoneInfo) -> Row:
    moved = dict(row)
    for name in table.times:
        column = table.column(name)
        if column is not None and (at := timestamp_of(row[column.name], column.unit, zone)) is not None:
            moved[column.name] = as_value(at - by, column, zone)
    return moved


@dataclass(frozen=True)
class TimeMisreading:
    what: str
    reference: type[Reference]
    events: bool
    """Whether it concerns events rather than states."""

    def concerns(self, view: View, feature: ViewFeature) -> bool:
        if feature.source is not None:
            return view.source(feature.source).is_event is self.events
        return not self.events and isinstance(feature.computation, Lookup)


READINGS = (
    TimeMisreading("rows exactly at the cut-off count", _Inclusive, events=True),
    TimeMisreading("rows exactly at the start of the window do not count", _Exclusive, events=True),
    TimeMisreading("rows after the cut-off count", _Future, events=True),
    TimeMisreading("windows begin at a midnight of UTC", _WholeDays, events=True),
    TimeMisreading("windows go by availability", _ByAvailability, events=True),
    TimeMisreading("states are the first there were", _FirstStates, events=False),
    TimeMisreading("states that begin exactly at the cut-off count", _Inclusive, events=False),
    TimeMisreading("states are a day old", _OldStates, events=False),
    TimeMisreading("states are the latest there are", _LatestStates, events=False),
)
AGES: tuple[tuple[str, type[Reference]], ...] = (
    ("the first event counts, not the last", _SinceFirst),
    ("days are counted from availability", _measured_by(_Available)),
    ("days are rounded", _measured_by(_HalfADayEarlier)),
)
"""Misreadings of the days since an event."""
TIES_BY_POSITION: tuple[tuple[str, type[Reference]], ...] = (
    ("the last row in the table wins ties", ties_by_position(1)),
    ("the first row in the table wins ties", ties_by_position(-1)),
)
STATES: tuple[tuple[str, timedelta], ...] = (
    ("every state before it", timedelta(0)),
    ("states that begin exactly then", MICROSECOND),
    ("the latest state there is", timedelta(days=3650)),
    ("states are a day old", -timedelta(days=1)),
)
"""Misreadings of joined states: how much earlier they begin; zero stands for all states."""
