"""Test scenarios with one entity per case: window edges, values, absences, repetitions and midnights."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import NamedTuple

from palmette.features.frames.calendar import dated
from palmette.features.frames.fixtures import Changes, Fixture, Rows, ScenarioBuilder
from palmette.features.frames.keys import GRAIN, ColumnRef
from palmette.features.frames.row_factory import LONG_AGO, EntityNumbers, Event, Row
from palmette.features.oracle.clock import MICROSECOND, day_of, midnight, window_start
from palmette.features.spec import Aggregate, Expression, Table
from palmette.features.spec.literals import to_python
from palmette.features.spec.sql import parse

DAY, HOUR, SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)


class EventTiming(NamedTuple):
    """When an event happens and becomes available, with a description."""

    note: str
    at: datetime
    available: datetime | None = None

    @property
    def is_late(self) -> bool:
        return self.available is not None and self.available > self.at


def boundaries(builder: ScenarioBuilder) -> None:
    """Adds events at every critical time: alone, second of two, and next to an event that produces the output row."""
    factory = builder.factory
    for table in factory.events():
        backwards, bare = factory.looks_back(table), factory.view.spine is None
        for fixture in relevant(builder, table):
            given, edges, late = fixture.values[table.name], list(_edges(builder, table)), list(_late(builder, table))
            for varied in (False, True):
                events = [
                    Event(at, fixture.varied(table, number) if varied else given, available)
                    for number, (_, at, available) in enumerate((*edges, *late))
                ]
                about = f"{table.name}_around_the_edges", f"{table.name} around the cut-off and the window starts"
                builder.events(fixture, table, events, about)
            outside = [(edges[i - 2], each) for i, each in enumerate(edges) if each.is_late]
            for timings in (*zip((*edges, *late)), *outside):
                theme = "known_late" if timings[0].is_late else "at_the_edges"
                about = f"{table.name}_{theme}", f"{table.name} {', and '.join(each.note for each in timings)}"
                builder.events(fixture, table, [Event(at, given, available) for _, at, available in timings], about)
            for note, at, available in edges if backwards else ():
                about = f"pairs_of_{table.name}_at_the_edges", f"the second of two {table.name} {note}"
                builder.events(fixture, table, [Event(at, given, available), Event(at - HOUR, given)], about)
            for beside, found in _companions(builder, fixture, table) if bare else ():
                for (note, at, available), second in product((*edges, *late), sorted({False, backwards})):
                    events = [Event(at, given, available), *[Event(at - HOUR, given)] * second, beside]
                    about = f"{table.name}_beside_others", f"{table.name} {note}, and {found}"
                    builder.events(fixture, table, events, about)
    _more_cutoffs(builder)


def _companions(builder: ScenarioBuilder, fixture: Fixture, table: Table) -> Iterator[tuple[Event, str]]:
    """Events that produce the output row: an equal one, a different one, and one that contributes little."""
    yield Event(builder.usual, fixture.values[table.name]), "one within"
    yield Event(builder.usual, fixture.contrast(table)), "one within"
    others = other_links(builder, table)
    found = f" of another {' and '.join(link.column for link in others)}" if others else ""
    if fixture.quiet:
        quiet = Event(builder.usual, fixture.quiet[table.name], None, others)
        yield quiet, f"one within{found} that counts for little"


def other_links(builder: ScenarioBuilder, table: Table) -> tuple[ColumnRef, ...]:
    """Links on which rows of a table match other tables, except the grain."""
    return tuple(sorted(link for link in builder.factory.keys.links_of(table) if link.table != GRAIN))


def relevant(builder: ScenarioBuilder, table: Table) -> list[Fixture]:
    """The fixtures that add coverage for features of a table."""
    view = builder.factory.view
    names = {each.name for each in view.features if each.source and view.source(each.source).table == table}
    found: list[Fixture] = []
    covered: set[str] = set()
    for fixture in builder.fixtures:
        if not found or fixture.features & names - covered:
            found.append(fixture)
            covered |= fixture.features & names
    return found


def _edges(builder: ScenarioBuilder, table: Table) -> Iterator[EventTiming]:
    cutoff, zone, step = builder.cutoff, builder.factory.zone, builder.factory.step(table)
    early = None if table.available_time is None else cutoff - MICROSECOND  # only their own time keeps them out
    yield EventTiming("shortly before the cut-off", builder.usual)
    yield EventTiming("exactly at the cut-off", cutoff, early)
    yield EventTiming("just before the cut-off", cutoff - step)
    yield EventTiming("just after the cut-off", cutoff + step, early)
    yield EventTiming("a day after the cut-off", cutoff + DAY, early)
    yield EventTiming("at the midnight before the cut-off", midnight(day_of(cutoff, zone), zone))
    for window in builder.factory.windows_of(table):
        start = window_start(cutoff, window, zone)
        if start is None:
            continue
        yield EventTiming(f"exactly {window} before the cut-off", start)
        yield EventTiming(f"just more than {window} before the cut-off", start - step)
        yield EventTiming(f"just less than {window} before the cut-off", start + step)
        if table.available_time is not None:
            before, after = (DAY, DAY) if window.timedelta > 2 * DAY else (step, HOUR)
            note = f"more than {window} before the cut-off, known after that"
            yield EventTiming(note, start - before, start + after)
        yield EventTiming(f"at the midnight before the last {window}", midnight(day_of(start, zone), zone))
        yield EventTiming(f"a day before the last {window}", start - DAY)
        if window.days and not window.seconds:
            yield EventTiming(f"{window.days * 24} hours before the cut-off", cutoff - window.days * DAY)
    yield EventTiming("long ago", cutoff - LONG_AGO)


def _late(builder: ScenarioBuilder, table: Table) -> Iterator[EventTiming]:
    if table.available_time is not None:
        cutoff = builder.cutoff
        yield EventTiming("known exactly at the cut-off", cutoff - 2 * DAY, cutoff)
        yield EventTiming("known just before the cut-off", cutoff - 2 * DAY, cutoff - MICROSECOND)
        yield EventTiming("known only after the cut-off", cutoff - 2 * DAY, cutoff + HOUR)
        yield EventTiming("known before they happened", cutoff - HOUR, cutoff - 3 * DAY)


def _more_cutoffs(builder: ScenarioBuilder) -> None:
    """Adds entities with several cut-offs, if each spine row has its own."""
    factory, spine = builder.factory, builder.factory.spine
    if spine is None or factory.view.cutoff != "spine":
        return
    for fixture in builder.fixtures:
        for later in (DAY, MICROSECOND, -DAY, 40 * DAY):
            entity = builder.entity()
            rows = fixture.rows(entity, builder.cutoff)
            rows[spine.name].append(factory.row(spine, entity, fixture.values[spine.name], builder.cutoff + later))
            builder.add("several_cut_offs", "one entity with several cut-offs", rows)


def values(builder: ScenarioBuilder) -> None:
    """Adds every value of every pool."""
    for table in builder.factory.view.tables.values():
        fixture = relevant(builder, table)[0]
        for column in builder.factory.free(table):
            for value in builder.factory.value_pools[table.name, column.name]:
                entity = builder.entity()
                text = "another value" if column.personal else value if isinstance(value, str) else str(value)
                rows = fixture.rows_of(table, entity, builder.cutoff, {column.name: value})
                builder.case(fixture, table, entity, rows, (f"values_of_{table.name}", f"{column.name} {text!r}"[:60]))


def absences(builder: ScenarioBuilder) -> None:
    """Adds nulls, and entities without rows in some tables."""
    fixture, factory = builder.fixtures[0], builder.factory
    for table in factory.view.tables.values():
        rest = fixture.rows(builder.entity(), builder.cutoff, without=[table.name])
        builder.add("nothing_there", f"no row in {table.name}", rest)
        for column in table.columns:
            if column.nullable and column.name not in table.keys:
                entity = builder.entity()
                rows = fixture.rows_of(table, entity, builder.cutoff, {})
                if column.name in (table.valid_from, table.valid_to):
                    rows = rows[-1:]  # with both states, one of them would still be valid
                nulls = [dated(table, {**row, column.name: None}, factory.zone) for row in rows]
                builder.case(fixture, table, entity, nulls, (f"nulls_in_{table.name}", f"null {column.name}"))
    for table in factory.view.tables.values():
        row = factory.usual_row(table, builder.entity(), fixture.values[table.name], builder.cutoff)
        builder.add("nothing_there", f"a row in {table.name} alone", {table.name: [row]})
    _bare(builder)
    _strangers(builder)
    _neighbours(builder)


def _bare(builder: ScenarioBuilder) -> None:
    """For each feature, adds events in which only the columns that it reads have a value."""
    factory = builder.factory
    for feature in factory.view.features:
        computed = feature.computation
        if not isinstance(computed, Aggregate | Expression):
            continue
        source = factory.view.source(computed.source)
        table = source.table
        if table in factory.events():
            fixture, entity = builder.fixture_of(feature.name), builder.entity()
            rows = fixture.rows_of(table, entity, builder.cutoff, factory.bare(table, source, computed))
            about = f"bare_{table.name}", f"{table.name} with nothing but what a feature reads"
            builder.case(fixture, table, entity, rows, about)


def _strangers(builder: ScenarioBuilder) -> None:
    """Adds rows in which one key belongs to a different entity."""
    fixture, keys = builder.fixtures[0], builder.factory.keys
    for table in builder.factory.view.tables.values():
        links = {column.name: link for column in table.columns if (link := keys.link(table, column.name)) is not None}
        for name, link in links.items():
            entity = builder.entity()
            other = entity.stranger([link])
            rows = fixture.rows(entity, builder.cutoff, without=[table.name])
            rows[table.name] = [builder.factory.usual_row(table, other, fixture.values[table.name], builder.cutoff)]
            builder.add("unmatched_keys", f"another {name} in {table.name}", rows)


def _neighbours(builder: ScenarioBuilder) -> None:
    """Adds pairs of entities that differ in a single key, with alternating events."""
    factory = builder.factory
    links = {key: factory.keys.links[ColumnRef(GRAIN, key)] for key in factory.view.grain}
    for key, link in links.items() if len(links) > 1 else ():
        for fixture in builder.fixtures:
            one = builder.entity()
            other = EntityNumbers(one.number, {link: builder.entity().number})
            rows: dict[str, list[Row]] = defaultdict(list)
            for number, entity in enumerate((one, other)):
                for name, each in fixture.rows(entity, builder.cutoff).items():
                    rows[name] += each
                for table in factory.events():
                    given = fixture.varied(table, number + 1)
                    rows[table.name].append(factory.row(table, entity, given, builder.usual - (number + 1) * HOUR))
            builder.add("neighbours", f"two that differ in {key} alone", rows)


def repeats(builder: ScenarioBuilder) -> None:
    """Adds several events per entity: equal values, equal frequencies, equal times, repeated rows."""
    factory = builder.factory
    for table in factory.events():
        about = f"repeated_{table.name}"
        for fixture in relevant(builder, table):
            plain = fixture.values[table.name]
            events = [Event(builder.cutoff - hours * HOUR, plain) for hours in (2, 3, 3, 50)]
            builder.events(fixture, table, events, (about, f"four {table.name}, two at the same time"))
            for column in factory.free(table):
                pool = factory.value_pools[table.name, column.name][:4]
                nulls = [[None, *pool[:1], None], [*pool[:1], None, *pool[:1]]] if column.nullable and pool else []
                for order in (pool[::-1], pool, [*pool, *pool], [*pool[:2], *pool[:3]], *nulls):
                    given = [{**plain, column.name: value} for value in order]
                    events = [Event(builder.cutoff - (2 + i // 2) * HOUR, each) for i, each in enumerate(given)]
                    note = "that repeats or ties" if None not in order else "that is null beside others"
                    builder.events(fixture, table, events, (about, f"{column.name} {note}"), backwards=order is pool)
            if not table.keys_enforced:
                entity = builder.entity()
                row = factory.row(table, entity, plain, builder.usual)
                other = factory.row(table, entity, plain, builder.cutoff - 5 * HOUR)
                rows = [row, dict(row), {**other, **{key: row[key] for key in table.keys}}]
                builder.case(fixture, table, entity, rows, (about, "repeated rows"))
        _of_several(builder, table)
        _ranks(builder, table)
    spine = factory.spine
    if spine is not None and not spine.keys_enforced:
        rows = list(builder.parts[0].rows[spine.name]) if builder.parts else []
        builder.add("repeated_spine_rows", "a row of the spine twice", {spine.name: [dict(row) for row in rows]})


def _ranks(builder: ScenarioBuilder, table: Table) -> None:
    """Adds values of which one has more rows and the other the largest quantity, for features that rank values."""
    factory, view = builder.factory, builder.factory.view
    for aggregate in (each.computation for each in view.features):
        if not isinstance(aggregate, Aggregate) or aggregate.function not in ("top_k", "mode") or not aggregate.of:
            continue
        pool = factory.value_pools.get((table.name, aggregate.of), [])
        if view.source(aggregate.source).table != table or len(pool) < 2:
            continue
        names = parse(aggregate.rank_by).columns if aggregate.rank_by else table.column_types
        measured = [each for each in factory.free(table) if each.name in names and each.type.parsed.is_numeric]
        for largest in (6, 9):
            plain, events = builder.fixtures[0].values[table.name], []
            for number, (value, amount) in enumerate(((pool[0], 4), (pool[0], 4), (pool[1], largest)), 1):
                given = {column.name: to_python(amount, column.type.parsed) for column in measured}
                at = builder.cutoff - factory.soon * number / 4
                events.append(Event(at, {**plain, aggregate.of: value, **given}))
            about = f"repeated_{table.name}", f"{aggregate.of} with more rows, and one with a larger amount"
            builder.events(builder.fixtures[0], table, events, about)


def _of_several(builder: ScenarioBuilder, table: Table) -> None:
    """Adds events of one entity that match different values in another table."""
    factory = builder.factory
    for name, columns in factory.columns_joined(table).items():
        links = factory.keys.links_of(factory.view.tables[name]).intersection(other_links(builder, table))
        for column in factory.free(factory.view.tables[name]) if links else ():
            values = factory.value_pools[name, column.name][:3] if column.name in columns else []
            about = f"repeated_{table.name}", f"several with their own {column.name} in {name}"
            for fixture in relevant(builder, table) if len(values) > 1 else ():
                for order in (values, values[::-1]):
                    changes = [{name: {column.name: value}} for value in order]
                    builder.add(*about, _found_by(builder, fixture, table, links, changes))


def _found_by(
    builder: ScenarioBuilder, fixture: Fixture, table: Table, links: Set[ColumnRef], changes: Sequence[Changes]
) -> Rows:
    """Events of one entity, each with its own rows in the tables that it matches on the links."""
    factory, entity = builder.factory, builder.entity()
    rows = fixture.rows(entity, builder.cutoff, changes[0])
    alone = [each.name for each in factory.view.tables.values() if not factory.keys.links_of(each) & links]
    for number, changed in enumerate(changes[1:], 1):
        other = entity.stranger(links, number)
        for name, each in fixture.rows(other, builder.cutoff, changed, without=[*alone, table.name]).items():
            rows[name] += each
        at = builder.usual - number * max(HOUR, factory.step(table))
        rows[table.name].append(factory.row(table, other, fixture.values[table.name], at))
    return rows


def midnights(builder: ScenarioBuilder) -> None:
    """Adds events at midnight in the zone and in UTC, and just before."""
    factory = builder.factory
    today = day_of(builder.cutoff, factory.zone)
    for table, days in product(factory.events(), (0, 1, 2, 7, 30)):
        day = today - days * DAY
        local, utc = midnight(day, factory.zone), datetime(day.year, day.month, day.day, tzinfo=UTC)
        for at in (local, local - factory.step(table), utc, utc - SECOND):
            fixture = builder.fixtures[builder.count % len(builder.fixtures)]
            event = Event(at, fixture.values[table.name])
            builder.events(fixture, table, [event], ("midnights", f"{table.name} around midnight"))


def empty(builder: ScenarioBuilder) -> None:
    """Adds only two spine rows, and no others."""
    spine = builder.factory.spine
    if spine is not None and spine not in builder.factory.events():
        for _ in range(2):
            row = builder.factory.row(spine, builder.entity(), builder.fixtures[0].values[spine.name], builder.cutoff)
            builder.add("nothing_there", "empty tables", {spine.name: [row]})
