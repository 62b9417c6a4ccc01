"""Relations: each changes the input in a way that must not change the output.

A relation returns None if it does not apply to the view because a table, time or key is missing.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from palmette.features.checks.metamorphic.inputs import MetamorphicInput, fresh, moved, renewed
from palmette.features.frame import Row, distinct_by
from palmette.features.spec import Aggregate, Expression, Table, View, Window
from palmette.features.spec.fsc_steps import pairs, reads_of
from palmette.features.spec.values import longest

_TIMED = ("event", "snapshot")


class _Moment(NamedTuple):
    """Event and availability times of copied rows, relative to the cut-off."""

    event: timedelta
    available: timedelta = timedelta(days=-1)
    """In the past, except for relations that test the availability time."""
    apart: timedelta = timedelta(0)
    """How much earlier each row happens than the previous one."""


def future_rows(ground: MetamorphicInput) -> MetamorphicInput | None:
    """Rows that happen after the cut-off change nothing."""
    return _from_the_cutoff(ground, timedelta(microseconds=1), timedelta(hours=13), timedelta(days=400))


def rows_at_cutoff(ground: MetamorphicInput) -> MetamorphicInput | None:
    """Rows that happen exactly at the cut-off change nothing."""
    return _from_the_cutoff(ground, timedelta(0))


def _from_the_cutoff(ground: MetamorphicInput, *offsets: timedelta) -> MetamorphicInput | None:
    moments = [_Moment(offset) for offset in offsets]
    added = {table.name: _copies(ground, table, moments) for table in ground.tables(*_TIMED)}
    return ground.with_rows(added | {table.name: _next_states(ground, table) for table in ground.tables("scd2")})


def _next_states(ground: MetamorphicInput, table: Table) -> list[Row]:
    """For every key, an additional state that begins well after the cut-off."""
    assert table.valid_from is not None
    start = ground.cutoff + timedelta(days=30)
    rows = distinct_by([dict(row) for row in ground.frames[table.name].rows], table.keys)
    ends = {table.valid_to: None} if table.valid_to else {}
    return [{**moved(table, row, table.valid_from, start, ground.zone), **ends} for row in rows]


def unavailable_rows(ground: MetamorphicInput) -> MetamorphicInput | None:
    """Rows that happened before the cut-off but became available at or after it change nothing."""
    late = (timedelta(0), timedelta(days=2))
    moments = [_Moment(timedelta(minutes=-61), available, timedelta(minutes=1)) for available in late]
    tables = [table for table in ground.tables(*_TIMED) if table.available_time is not None]
    return ground.with_rows({table.name: _copies(ground, table, moments) for table in tables})


def ancient_rows(ground: MetamorphicInput) -> MetamorphicInput | None:
    """Rows from long before the widest window change nothing."""
    added: dict[str, Sequence[Row]] = {}
    for table in ground.tables("event"):
        widest = _widest(ground.view, table)
        if widest is not None:
            events = (-widest - timedelta(days=days) for days in (2, 3000))
            added[table.name] = _copies(ground, table, [_Moment(one, apart=timedelta(minutes=1)) for one in events])
    return ground.with_rows(added)


def _copies(ground: MetamorphicInput, table: Table, moments: Sequence[_Moment]) -> Sequence[Row]:
    """Copies of a table's rows, one set for each moment.

    Keys are renewed unless that changes the entity; copies that would still repeat an enforced key are dropped.
    """
    assert table.event_time is not None
    cutoff, zone = ground.cutoff, ground.zone
    rows = [row for row in ground.frames[table.name].rows if row[table.event_time] is not None]
    copies = []
    for moment in moments:
        for place, row in enumerate(rows):
            copy = moved(table, row, table.event_time, cutoff + moment.event - place * moment.apart, zone)
            if table.available_time is not None:
                copy = moved(table, copy, table.available_time, cutoff + moment.available, zone)
            copies.append(copy)
    identity = table.keys
    if table.kind == "event":
        copies = renewed(table, copies, tuple(ground.view.grain))
    else:
        identity = (*table.keys, table.event_time)
    return distinct_by(copies, identity) if table.keys_enforced else copies


def _widest(view: View, table: Table) -> timedelta | None:
    """The longest window over the table; None if it is all history, or if steps look further back."""
    sources = {source.name for source in view.sources if source.table.name == table.name}
    if any(source.late for source in view.sources if source.name in sources):
        return None
    windows = [feature.window for feature in view.features if feature.source in sources]
    widest = longest(window for window in windows if window is not None)
    return None if widest is None or widest == Window.ALL else widest.timedelta


def other_entities(ground: MetamorphicInput) -> MetamorphicInput | None:
    """Rows of entities that were not there change nothing for those that were."""
    added: dict[str, Sequence[Row]] = {}
    for table in ground.tables("event"):
        keys = [key for key in ground.view.grain if table.column(key)]
        if not keys or any(column.values for key in keys if (column := table.column(key))):
            continue
        if not all(set(by) & set(keys) for by in _groupings(ground.view, table.name)):
            continue  # entities that are joined may already exist
        copies = []
        for number, row in enumerate(ground.frames[table.name].rows):
            values = {key: fresh(table, row, key, number) for key in keys}
            if None not in values.values():
                copies.append({**row, **values})
        added[table.name] = list(renewed(table, copies, keys))
    return ground.with_rows(added)


def _groupings(view: View, table: str) -> Iterator[tuple[str, ...]]:
    """The keys by which features over the table's rows are grouped."""
    sources = {source.name for source in view.sources if source.table.name == table}
    for feature in view.features:
        if isinstance(feature.computation, Aggregate | Expression) and feature.computation.source in sources:
            yield feature.computation.by or tuple(view.grain)


def repeated_dimension_rows(ground: MetamorphicInput) -> MetamorphicInput | None:
    """A repeated row of a table whose keys are not enforced changes nothing where one row is looked up."""
    many = {
        step.join.table
        for source in ground.view.sources
        for step in source.steps
        if step.join and step.join.cardinality == "one_to_many"
    }
    used = {source.table.name for source in ground.view.sources} | many
    added = {
        table.name: ground.frames[table.name].rows
        for table in ground.tables("dimension", "snapshot", "scd2")
        if not table.keys_enforced and table.name not in used
    }
    return ground.with_rows(added)


def unused_columns(ground: MetamorphicInput) -> MetamorphicInput | None:
    """Values of columns outside the lineage change nothing: they are made null."""
    view = ground.view
    needed = {place for places in view.lineage.values() for place in places}
    frames = dict(ground.frames)
    for table in ground.tables("event", "snapshot", "scd2", "dimension"):
        kept = {*table.keys, *table.times, *(p.column for p in table.partitions), *view.grain}
        kept |= {key for source in view.sources for key in _join_keys(source, table.name)}
        unused = [c.name for c in table.columns if c.name not in kept and f"{table.name}.{c.name}" not in needed]
        if unused:
            empty: dict[str, Any] = dict.fromkeys(unused)
            frames[table.name] = frames[table.name].with_rows([{**row, **empty} for row in frames[table.name].rows])
    return replace(ground, frames=frames) if frames != dict(ground.frames) else None


def _join_keys(source: Any, table: str) -> set[str]:
    joins = reads_of(source.steps)
    there = {key for join in joins if join.table == table for key in pairs(join.on).values()}
    here = {key for join in joins if source.table.name == table for key in join.on}
    return there | here


def shuffled_rows(ground: MetamorphicInput) -> MetamorphicInput | None:
    """The order of the input changes nothing."""
    rng = random.Random(0)
    frames = {name: frame.with_rows(rng.sample(frame.rows, len(frame.rows))) for name, frame in ground.frames.items()}
    return replace(ground, frames=frames)


def spine_mismatch(ground: MetamorphicInput, output: Sequence[Row]) -> str:
    """Describes missing and extra output rows compared to the spine; empty if there are none.

    A spine with a `where` is left to the differential check, which evaluates it.
    """
    spine = ground.view.spine
    if spine is None or spine.where is not None:
        return ""
    columns = [*ground.view.grain, *ground.view.kept]
    wanted = [tuple(repr(row[c]) for c in columns) for row in ground.frames[spine.table].rows]
    found = [tuple(repr(row.get(c)) for c in columns) for row in output]
    missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    if not missing and not extra:
        return ""
    counts = f"{len(wanted)} spine rows, {len(found)} output rows"
    return f"{counts}; missing {[*missing.elements()][:3]}, extra {[*extra.elements()][:3]} of {columns}"
