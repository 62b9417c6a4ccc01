"""Several events of one entity: their distances, and the states between them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from palmette.features.frames.fixtures import Fixture, ScenarioBuilder
from palmette.features.frames.row_factory import EntityNumbers, Event, Row
from palmette.features.frames.test_scenarios import DAY, HOUR, relevant
from palmette.features.oracle.clock import MICROSECOND
from palmette.features.spec import Table


def histories(builder: ScenarioBuilder) -> None:
    """Adds sequences of events whose distances are at, below and above the relevant lengths."""
    factory = builder.factory
    for table in factory.events():
        if not factory.looks_back(table):
            continue
        step = factory.step(table)
        for fixture in relevant(builder, table):
            for length in factory.lengths_of(table) or [HOUR]:
                for note, gap in (
                    ("exactly", length),
                    ("just less than", length - step),
                    ("just more than", length + step),
                    ("less than half of", length * 0.4),
                ):
                    times = [builder.usual - i * gap for i in range(3)]
                    _history(builder, table, fixture, times, f"{table.name} {note} {length} apart")
            hours = [builder.cutoff + hours * HOUR for hours in (-60, -30, -3, -1, 0, 2)]
            _history(builder, table, fixture, hours, "a history that goes on after the cut-off")
            if table.available_time is not None:
                late = builder.cutoff + HOUR
                _history(builder, table, fixture, hours[:4], "an event in between that is known too late", late)
            _gaps_of_knowledge(builder, table, fixture)


def _history(
    builder: ScenarioBuilder,
    table: Table,
    fixture: Fixture,
    times: Sequence[datetime],
    note: str,
    second_known: datetime | None = None,
) -> None:
    """Adds an entity with an event at each time; the second may be known late."""
    known = [None, second_known, *[None] * len(times)]
    events = [Event(at, fixture.varied(table, i), known[i]) for i, at in enumerate(times)]
    builder.events(fixture, table, events, (f"history_of_{table.name}", note))


def _gaps_of_knowledge(builder: ScenarioBuilder, table: Table, fixture: Fixture) -> None:
    """Adds histories of three events in which the second lacks a value."""
    for column in builder.factory.free(table):
        if column.nullable:
            values = [fixture.varied(table, i) for i in range(3)]
            values[1][column.name] = None
            events = [Event(builder.usual - i * HOUR, given) for i, given in enumerate(values)]
            about = f"history_of_{table.name}", f"an event without {column.name} in between"
            builder.events(fixture, table, events, about)


def states(builder: ScenarioBuilder) -> None:
    """Adds successive states that begin or end at, or next to, the cut-off or an event."""
    members(builder)
    factory, none = builder.factory, timedelta(0)
    for table in factory.tables("snapshot", "scd2"):
        step = factory.step(table)
        for what, moment in _moments(builder, table):
            if table.kind == "snapshot" and table.available_time is not None:
                _overtaken(builder, table, what, moment)
            for note, first, second, end in (
                (f"a new state before the {what}", -10 * DAY, -DAY, None),
                (f"a new state exactly at the {what}", -10 * DAY, none, None),
                (f"a new state just before the {what}", -10 * DAY, -step, None),
                (f"a new state just after the {what}", -10 * DAY, step, None),
                (f"a new state a day after the {what}", -DAY, DAY, None),
                (f"a state that ends exactly at the {what}", -10 * DAY, -5 * DAY, none),
                (f"a state that ends just before the {what}", -10 * DAY, -5 * DAY, -step),
                (f"a state that ends just after the {what}", -10 * DAY, -5 * DAY, step),
                (f"the first state exactly at the {what}", none, DAY, None),
            ):
                entity, ends = builder.entity(), None if end is None else moment + end
                rows = _successive(builder, table, entity, (moment + first, moment + second), ends, moment)
                builder.case(builder.fixtures[0], table, entity, rows, (f"states_of_{table.name}", note))
        _meanwhile(builder, table)


def _moments(builder: ScenarioBuilder, table: Table) -> list[tuple[str, datetime]]:
    """When the table is looked into, with descriptions."""
    moments = {"cutoff": ("cut-off", builder.cutoff), "event": ("event", builder.usual)}
    asked = builder.factory.state_moments(table)
    return [moment for name, moment in moments.items() if name in asked]


def members(builder: ScenarioBuilder) -> None:
    """Adds rows that begin to count at, or next to, the cut-off or an event, for tables of members."""
    factory, none = builder.factory, timedelta(0)
    for table in (each for each in factory.tables("event") if each not in factory.events()):
        step = factory.step(table)
        late = [("known exactly at", -DAY, none), ("known just after", -DAY, step), ("known just before", -DAY, -step)]
        times = [("exactly at", none, none), ("just before", -step, -step), ("just after", step, step)]
        for note, at, known in [*times, *(late if table.available_time else [])]:
            for what, moment in _moments(builder, table):
                for second in (False, True):
                    given = builder.fixtures[0].values[table.name]
                    events = [Event(moment + at, given, moment + known), *[Event(moment + DAY, given)] * second]
                    about = f"members_in_{table.name}", f"{table.name} {note} the {what}{', and later' * second}"
                    builder.events(builder.fixtures[0], table, events, about)


def _overtaken(builder: ScenarioBuilder, table: Table, what: str, moment: datetime) -> None:
    """Adds an old state that becomes available only after a newer one, and a new one known too late."""
    factory, fixture, begins = builder.factory, builder.fixtures[0], (moment - 10 * DAY, moment - 5 * DAY)
    for note, known in (
        (f"an older state known after a newer one, before the {what}", (moment - DAY, begins[1])),
        (f"a new state known exactly at the {what}", (begins[0], moment)),
    ):
        entity = builder.entity()
        values = fixture.values[table.name], fixture.contrast(table, entity.number)
        given = zip(values, begins, known, strict=True)
        rows = [factory.row(table, entity, each, begin, available=at) for each, begin, at in given]
        builder.case(fixture, table, entity, rows, (f"states_of_{table.name}", note))


def _meanwhile(builder: ScenarioBuilder, table: Table) -> None:
    """Adds joined events that become available only after the next state has begun."""
    factory, fixture = builder.factory, builder.fixtures[0]
    for events in factory.joined_to(table):
        if events.available_time is None:
            continue
        entity, unit = builder.entity(), max(builder.factory.soon / 4, factory.step(table), factory.step(events))
        given = fixture.rows(entity, builder.cutoff)
        at, change, known = (builder.cutoff - units * unit for units in (4, 2, 1))
        given[events.name] = [factory.row(events, entity, fixture.values[events.name], at, available=known)]
        given[table.name] = _successive(builder, table, entity, (at - 10 * DAY, change), None, builder.cutoff)
        builder.add(f"states_of_{table.name}", f"a new state between {events.name} and when they are known", given)


def _successive(
    builder: ScenarioBuilder,
    table: Table,
    entity: EntityNumbers,
    begins: tuple[datetime, datetime],
    end: datetime | None,
    moment: datetime,
) -> list[Row]:
    """Two states, both known before the moment at which the table is looked into."""
    row, fixture = builder.factory.row, builder.fixtures[0]
    known = [min(begin, moment - early * MICROSECOND) for begin, early in zip(begins, (2, 1), strict=True)]
    return [
        row(table, entity, fixture.values[table.name], begins[0], available=known[0], until=begins[1]),
        row(table, entity, fixture.contrast(table, entity.number), begins[1], available=known[1], until=end),
    ]
