"""Advice for a model that writes cases for a view: its cut-offs, and the timestamps on both sides of each bound."""

import re
from collections.abc import Iterator
from datetime import timedelta

from palmette.features.actors.testcase_generator.offline import DAY, CaseSelector
from palmette.features.actors.testcase_generator.rows import moment
from palmette.features.frame_json import timestamp_text
from palmette.features.frames.calendar import as_value, clock_changes
from palmette.features.oracle.clock import timestamp_of, window_start
from palmette.features.spec.dfr import Table
from palmette.features.spec.values import Window


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
