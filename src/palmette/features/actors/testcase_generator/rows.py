"""Expands rows as a model writes them: arrays under named columns, relative times, and no derived columns."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.actors.testcase_generator.offline import DAY, CaseSelector
from palmette.features.frame_json import decode, encode, timestamp_text
from palmette.features.frames.calendar import as_value, clock_changes
from palmette.features.oracle.clock import MICROSECOND, plus_days, timestamp_of, window_start
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.spec import RegisteredColumn, Table, View, Window

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
    missing availability time becomes the row's own time, or just before the cut-off if that is earlier. Unreadable
    values stay, and are reported when the case is computed.
    """
    zone = ZoneInfo(view.zone)
    named = (dict(row) if isinstance(row, Mapping) else _named(columns, row) for row in rows)
    found = []
    for full in (one for row in named for one in _each(row, table)):
        for name in full:
            full[name] = _value(full[name], table.column(name), cutoff, zone)
        found.append(_with_availability(table, full, cutoff, zone))
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


def _with_availability(table: Table, row: Row, cutoff: datetime | None, zone: ZoneInfo) -> Row:
    """The row with its availability time filled in."""
    event, known = (table.column(name) if name else None for name in (table.event_time, table.available_time))
    if event is None or known is None or known.name in row:
        return row
    try:
        at = timestamp_of(decode(event.type.parsed, row.get(event.name)), event.unit, zone)
    except (NotCovered, ValueError, TypeError, ArithmeticError):
        at = None
    early = cutoff - MICROSECOND if at is not None and cutoff is not None and at >= cutoff else at
    return row | {known.name: encode(known.type.parsed, as_value(early, known, zone))}


def recipe(suite: CaseSelector) -> str:
    return "\n".join(f"- {line}" for line in (_cutoffs(suite), *_timestamps(suite)))


def _cutoffs(suite: CaseSelector) -> str:
    view = suite.view
    known = list(dict.fromkeys(timestamp_text(staged.builder.cutoff) for staged in suite.staged))[:2]
    later = ""
    if len(known) > 1:
        why = "days there are not 24 hours" if clock_changes(suite.factory.zone) else "it is a midnight"
        later = f" in most cases. In one {known[1]}: {why}, so give it the rows around the start of each window, too"
    if view.spine is not None and view.cutoff == "spine":
        return (
            f"`as_of`: {known[0]}{later}. Times are relative to it; the cut-off of each row is the "
            f"`{view.spine.cutoff}` of its row of {view.spine.table}: give T there."
        )
    return f"`as_of`: {known[0]}{later}."


def _timestamps(suite: CaseSelector) -> Iterator[str]:
    """For every window, timestamps at its bounds and whether they count."""
    view = suite.view
    for table in suite.factory.events():
        features = [one for one in view.features if one.source and view.source(one.source).table.name == table.name]
        windows = dict.fromkeys(feature.window for feature in features if feature.window)
        step = _step(suite.factory.step(table))
        ends = [_counted(suite, table, Window.ALL, (f"T-{step}", "T", "T+1d" if step == "1d" else "T+1h"))]
        for window in windows:
            names = ", ".join(feature.name for feature in features if feature.window == window)
            what = "All history" if window == Window.ALL else f"Window {window}"
            alone = " Give it to an entity without later rows, too." if window == Window.ALL else ""
            ends.append(f"{what} ({names}): {_counted(suite, table, window, _around(window, step))}{alone}")
        yield f"Times of {table.name}, in `{table.event_time}`: {' '.join(ends)}"
    if late := [f"{table.name}.{table.available_time}" for table in suite.factory.events() if table.available_time]:
        yield (
            f"Leave out {', '.join(late)} where it does not matter: the row is then available at its own time, or just "
            "before T where that is T or later. Give it to rows at T-2h that were available at T and at T+1h (they do "
            "not count), and for each window to a row well before its start, available at T-1h (outside the window)."
        )


def _around(window: Window, step: str) -> tuple[str, ...]:
    """Timestamps on both sides of the start of a window, and one long before it."""
    if window == Window.ALL:
        return ("T-31d",)
    start, half = f"T-{'-'.join(re.findall('[0-9]+[dhms]', str(window)))}", "12h" if window.days else "30m"
    near = (f"{start}+1d", f"{start}-1d") if step == "1d" else (f"{start}-{step}", f"{start}+{half}", f"{start}-{half}")
    return (start, *near, f"T-{window.days + 60}d")


def _counted(suite: CaseSelector, table: Table, window: Window, texts: tuple[str, ...]) -> str:
    """States which of these timestamps of a table's rows lie in the window."""
    zone, cutoff = suite.factory.zone, suite.staged[0].builder.cutoff
    column = table.column(table.event_time or "")
    start = window_start(cutoff, window, zone)
    found: dict[bool, list[str]] = {True: [], False: []}
    for text in texts:
        instant = moment(text, cutoff, zone)
        at = timestamp_of(as_value(instant, column, zone), column.unit, zone) if column is not None else None
        if at is not None:
            found[at < cutoff and (start is None or start <= at)].append(text)
    counts = [f"{', '.join(each)} {'count' if inside else 'do not'}" for inside, each in found.items() if each]
    return f"{'; '.join(counts)}."


def _step(length: timedelta) -> str:
    for unit, name in ((DAY, "1d"), (timedelta(seconds=1), "1s"), (timedelta(milliseconds=1), "1ms")):
        if length >= unit:
            return name
    return "1us"
