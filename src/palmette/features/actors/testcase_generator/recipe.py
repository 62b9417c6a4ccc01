"""Advice for a model that writes cases for a view: the cut-offs, timestamps and situations that matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from palmette.features.actors.testcase_generator.offline import DAY, CaseSelector
from palmette.features.actors.testcase_generator.rows import moment
from palmette.features.frame_json import timestamp_text
from palmette.features.frames.calendar import as_value, clock_changes
from palmette.features.oracle.clock import timestamp_of, window_start
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Expression
from palmette.features.spec.values import Window
from palmette.features.spec.view import View

_BY_FUNCTION = {
    "count": "two rows of one entity",
    "exists": "two rows of one entity",
    "count_distinct": "the same thing twice and another one",
    "approx_count_distinct": "the same thing twice and another one",
    "sum": "rows with different values and one with null",
    "avg": "rows with different values and one with null",
    "stddev": "three rows with different values and one with null",
    "percentile": "three rows with different values and one with null",
    "min": "rows with different values and one with null",
    "max": "rows with different values and one with null",
    "share": "rows for and against its condition, and one where it is null",
    "first": "rows at the same time that differ, and one with null",
    "last": "rows at the same time that differ, and one with null",
    "last_k": "one row more than k, one with null, a value twice, two rows at the same time",
    "collect": "rows in another order than their times, a value twice, one with null",
    "top_k": "values of different and of equal frequency",
    "mode": "values of different and of equal frequency",
    "days_since_last": "rows at different times",
}

_ORDERS = re.compile(r"[<>]|\bbetween\b", re.IGNORECASE)
"""Patterns of a condition with a threshold. `<>` has none, but is included."""


def recipe(suite: CaseSelector) -> Iterator[str]:
    """Yields the lines of advice that apply to the view."""
    view = suite.view
    yield "\n".join(f"- {line}" for line in (*_cutoffs(suite), *_timestamps(suite), *_rows(view), *_values(view)))


def _cutoffs(suite: CaseSelector) -> Iterator[str]:
    view = suite.view
    known = list(dict.fromkeys(timestamp_text(staged.builder.cutoff) for staged in suite.staged))[:2]
    later = ""
    if len(known) > 1:
        why = "days there are not 24 hours" if clock_changes(suite.factory.zone) else "it is a midnight"
        later = f" in most cases. In one {known[1]}: {why}, so give it the rows around the start of each window, too"
    if view.spine is not None and view.cutoff == "spine":
        yield (
            f"`as_of`: {known[0]}{later}. Times are relative to it; the cut-off of each row is the "
            f"`{view.spine.cutoff}` of its row of {view.spine.table}: give T there."
        )
    else:
        yield f"`as_of`: {known[0]}{later}."


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
            f"Leave out {', '.join(late)} where it does not matter: the row could then be read at its own time, or "
            "just before T where that is T or later, so that only its time keeps it out. Give it to rows at T-2h that "
            "could be read at T, and at T+1h (they do not count), and for each window to a row well before its start "
            "that could be read at T-1h (it is outside of the window)."
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


def _rows(view: View) -> Iterator[str]:
    if view.spine is not None:
        yield f"Every entity needs a row of {view.spine.table}: its rows are the rows of the output."
    else:
        yield (
            "An entity is in the output only through its rows. So give each instant twice: to an entity of which "
            "another row counts in every window (such as T-3h), so that the value shows; and alone, to an entity "
            "without any other row, so that it shows whether the entity is there."
        )
    yield "A table of which a case needs no row is left out of its `given`."
    yield (
        "For counts and sums, one entity can have the rows of all instants: each that is too much or too little shows. "
        "Other functions need one entity an instant."
    )
    if states := [name for name, table in view.tables.items() if table.kind in ("snapshot", "scd2")]:
        yield (
            f"States ({', '.join(states)}): of one key an old one, another from T-12h on and a third from T on, all "
            "different; one that has ended; a key without any."
        )
    for part in [f"{name}.{one.column}" for name, table in view.tables.items() for one in table.partitions if one.of]:
        yield f"Leave out {part}: it follows from the time."


def _values(view: View) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for feature in view.features:
        computed = feature.computation
        if isinstance(computed, Aggregate) and computed.function in _BY_FUNCTION:
            found.setdefault(_BY_FUNCTION[computed.function], []).append(feature.name)
        if isinstance(computed, Aggregate | Expression) and computed.where:
            threshold = ", one at its threshold" if _ORDERS.search(computed.where) else ""
            text = f"a row that fulfils its condition, one that does not{threshold}, one where it is null if it can be"
            found.setdefault(text, []).append(feature.name)
    for text, names in found.items():
        yield f"{', '.join(names)}: {text}."
    if any(feature.dtype.is_numeric for feature in view.features):
        yield "Numbers with few binary digits (1.5, 4, 10.25), so that the order of adding does not matter."


def _step(length: timedelta) -> str:
    for unit, name in ((DAY, "1d"), (timedelta(seconds=1), "1s"), (timedelta(milliseconds=1), "1ms")):
        if length >= unit:
            return name
    return "1us"
