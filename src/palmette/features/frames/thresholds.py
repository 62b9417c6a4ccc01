"""Numbers and ages of events on both sides of the thresholds in conditions on other features."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from palmette.features.frames.fixtures import Fixture, ScenarioBuilder
from palmette.features.frames.keys import GRAIN
from palmette.features.frames.row_factory import Event
from palmette.features.frames.test_scenarios import DAY, HOUR
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate
from palmette.features.spec.view import ViewFeature

_COUNTS = ("count", "count_distinct", "approx_count_distinct")
MOST_EVENTS = 12
"""Conditions on higher counts are left to the random scenarios; these cases must stay readable."""
MOST_THRESHOLDS = 6
"""Maximum number of thresholds per feature."""


def thresholds(builder: ScenarioBuilder) -> None:
    """For counts and recencies that other expressions use, adds rows on both sides of every threshold."""
    for feature in builder.factory.view.features:
        computed = feature.computation
        known = builder.factory.predicate_values.literals.get(feature.name, [])
        numbers = [each for each in dict.fromkeys(known) if not isinstance(each, str | bool) and each > 0]
        if not isinstance(computed, Aggregate) or not numbers:
            continue
        table = builder.factory.view.source(computed.source).table
        if table.kind != "event":
            continue
        fixture = next((each for each in builder.fixtures if feature.name in each.features), builder.fixtures[0])
        for number in numbers[:MOST_THRESHOLDS]:
            if computed.function == "days_since_last":
                _ages(builder, feature, table, fixture, number)
            elif computed.function in _COUNTS and number <= MOST_EVENTS:
                _counts(builder, feature, table, fixture, int(number))


def _ages(builder: ScenarioBuilder, feature: ViewFeature, table: Table, fixture: Fixture, days: float) -> None:
    step = builder.factory.step(table)
    for note, more in (("exactly", timedelta(0)), ("just more than", step), ("just less than", -step)):
        event = Event(builder.cutoff - days * DAY - more, fixture.values[table.name])
        about = f"thresholds_of_{feature.name}", f"{table.name} {note} {days:g} days before the cut-off"
        builder.events(fixture, table, [event], about)


def _counts(builder: ScenarioBuilder, feature: ViewFeature, table: Table, fixture: Fixture, number: int) -> None:
    for count in (number - 1, number, number + 1):
        if count > 0:
            events = list(_several(builder, feature, table, fixture))[:count]
            builder.events(fixture, table, events, (f"thresholds_of_{feature.name}", f"{count} {table.name}"))


def _several(builder: ScenarioBuilder, feature: ViewFeature, table: Table, fixture: Fixture) -> Iterator[Event]:
    """Events that count, at distinct times and, if the function counts distinct values, with distinct values."""
    factory, apart = builder.factory, max(HOUR, builder.factory.step(table))
    assert isinstance(feature.computation, Aggregate)
    column = table.column(feature.computation.of or "")
    link = factory.keys.link(table, column.name) if column is not None else None
    value_pool = factory.value_pools[table.name, column.name] if column in factory.free(table) else []
    for index in range(MOST_EVENTS + 1):
        values = dict(fixture.values[table.name])
        if column is not None and value_pool and feature.computation.function != "count":
            values[column.name] = value_pool[index % len(value_pool)]
        others = (link,) if link is not None and link.table != GRAIN else ()
        at = builder.cutoff - max(factory.soon, factory.step(table)) - index * apart
        yield Event(at, values, None, others, index)
