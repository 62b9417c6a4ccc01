"""Rows on both sides of conditions: numbers and ages of events, and values for which both sides are equal."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

from sqlglot import exp

from palmette.features.frames.fixtures import Fixture, ScenarioBuilder, grain_of, outputs
from palmette.features.frames.keys import GRAIN
from palmette.features.frames.row_factory import EntityNumbers, Event, RowFactory
from palmette.features.frames.test_scenarios import DAY, HOUR
from palmette.features.frames.value_pool import legal, step_of, typed
from palmette.features.oracle.expression import columns_of, parse
from palmette.features.spec import Aggregate, Expression, RegisteredColumn, SparkType, Table, View, ViewFeature, Window
from palmette.features.spec.sql import COMPARISONS
from palmette.features.spec.type_rules import DOUBLE

Addition = Callable[[ScenarioBuilder], None]
"""Adds the rows of one entity to a scenario."""
_COUNTS = ("count", "count_distinct", "approx_count_distinct")
MOST_EVENTS = 12
"""Conditions on higher counts are left to the random scenarios; these cases must stay readable."""
MOST_DAYS = 36525
"""A longer age only stands for `never`, as in `coalesce(days_since_order, 999999)`."""
MOST_THRESHOLDS = 6
"""Maximum number of thresholds per feature."""
STEPS = 8
"""Maximum number of steps towards a value for which both sides of a condition are equal."""


def thresholds(builder: ScenarioBuilder) -> None:
    """Adds rows on both sides of conditions on counts and recencies, and of comparisons of computed values."""
    for feature in builder.factory.view.features:
        for text, view in [*_differences(builder.factory.view, feature)][:MOST_THRESHOLDS]:
            _balanced(builder, feature, text, view)
    for feature in builder.factory.view.features:
        computed = feature.computation
        known = builder.factory.predicate_values.literals.get(feature.name, [])
        numbers = [each for each in dict.fromkeys(known) if not isinstance(each, str | bool) and each > 0]
        if not isinstance(computed, Aggregate) or not numbers:
            continue
        table = builder.factory.view.source(computed.source).table
        if table.kind != "event":
            continue
        fixture = builder.fixture_of(feature.name)
        for number in numbers[:MOST_THRESHOLDS]:
            if computed.function == "days_since_last" and number <= MOST_DAYS:
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


def _differences(view: View, feature: ViewFeature) -> Iterator[tuple[str, View]]:
    """For each comparison of computed numbers in a feature: their difference, and the view with it as the feature."""
    one = feature.computation
    for text in [feature.derive] if one is None else [getattr(one, "where", None), getattr(one, "of", None)]:
        for node in parse(text or "null").find_all(*COMPARISONS):
            if _is_direct(view, node):
                continue
            left, right = (f"CAST(({side.sql(dialect='spark')}) AS double)" for side in (node.this, node.expression))
            changed = replace(feature, derive=f"{left} - {right}", dtype=DOUBLE, default=None)
            if isinstance(one, Aggregate | Expression):
                of = Aggregate(function="max", source=one.source, of=changed.derive, window=one.window, by=one.by)
                changed = replace(changed, computation=of, derive=None)
            features = tuple(changed if each is feature else each for each in view.features)
            output = {**view.output, feature.name: DOUBLE}
            yield f"{left} - {right}", replace(view, features=features, output=output)


def _is_direct(view: View, node: exp.Expr) -> bool:
    """Whether a column is compared with a constant that the values of its pool, or the counts above, surround."""
    column, constant = sorted((node.this, node.expression), key=lambda side: isinstance(side, exp.Literal))
    named = next((each.computation for each in view.features if each.name == column.name), "column")
    is_share = named is None or (isinstance(named, Aggregate) and named.function == "share")
    return isinstance(column, exp.Column) and isinstance(constant, exp.Literal) and not is_share


def _balanced(builder: ScenarioBuilder, feature: ViewFeature, difference: str, view: View) -> None:
    """Adds rows for which the difference is zero or close to it: of one value in a column, or else of some events."""
    factory, fixture = builder.factory, builder.fixture_of(feature.name)
    about = f"thresholds_of_{feature.name}"

    def measured(tried: list[Addition]) -> list[float | None]:
        trial = replace(builder, parts=[], count=0)
        for add in tried:
            add(trial)
        found = dict(outputs(view, factory, trial.rows(), trial.cutoff))
        keys = [repr(grain_of(factory, EntityNumbers(number))) for number in range(trial.count)]
        return [found[key].get(feature.name) if key in found else None for key in keys]

    for table, column in _columns(factory, columns_of(difference)):
        kind, changed = column.type.parsed, partial(_changed, fixture, table, column.name, about)
        root = _root(changed, measured, kind)
        step = step_of(kind) if kind.is_integer or not root else typed(kind, float(abs(root)) / 8)
        values = [] if root is None else legal(kind, (root, root - step, root + step))
        for value in values:
            changed(value)(builder)
        if values and 0 in measured([*map(changed, values)]):
            return
    for table in factory.events():
        tried = list(_mixed(builder, fixture, table, about))
        found = [(value, add) for value, add in zip(measured(tried), tried, strict=True) if value is not None]
        for side in (0, 1, -1):
            near = [pair for pair in found if (pair[0] > 0) - (pair[0] < 0) == side]
            if near and len({value for value, _ in found}) > 1:
                min(near, key=lambda pair: abs(pair[0]))[1](builder)


def _columns(factory: RowFactory, names: Iterable[str]) -> Iterator[tuple[Table, RegisteredColumn]]:
    """The columns with free numbers that these names are computed from."""
    named = factory.predicate_values.origins(names)
    for table in factory.view.tables.values():
        for column in factory.free(table):
            if column.name in named and column.type.parsed.is_numeric and not column.values:
                yield table, column


def _changed(fixture: Fixture, table: Table, column: str, theme: str, value: Any) -> Addition:
    def add(builder: ScenarioBuilder) -> None:
        entity = builder.entity()
        rows = fixture.rows_of(table, entity, builder.cutoff, {column: value})
        builder.case(fixture, table, entity, rows, (theme, f"{column} {value}"))

    return add


def _mixed(builder: ScenarioBuilder, fixture: Fixture, table: Table, theme: str) -> Iterator[Addition]:
    """Usual events, together with others: with other values, or before the start of a window."""
    factory, plain = builder.factory, fixture.values[table.name]
    apart, soon = max(HOUR, factory.step(table)), max(factory.soon, factory.step(table))
    before = [window.timedelta + soon for window in factory.windows_of(table) if window != Window.ALL]
    for (what, values, age), usual, others in product(
        [("others", fixture.contrast(table), soon + 5 * apart), *((f"{age} before", plain, age) for age in before)],
        range(1, 4), range(5),
    ):  # fmt: skip
        events = [Event(builder.cutoff - soon - i * apart, plain) for i in range(usual)]
        events += [Event(builder.cutoff - age - i * apart, values) for i in range(others)]
        note = f"{usual} {table.name}, and {others} {what}"
        yield partial(ScenarioBuilder.events, fixture=fixture, table=table, events=events, about=(theme, note))


def _root(
    changed: Callable[[Any], Addition], measured: Callable[[list[Addition]], list[float | None]], kind: SparkType
) -> Any:
    """The value whose measure is zero, or close to it; None if it does not depend on the value."""
    last, value = typed(kind, 1), typed(kind, 2)
    before, now = measured([changed(last), changed(value)])
    for _ in range(STEPS):
        if before is None or now is None or now in (0, before):
            break
        following = typed(kind, float(value) - now * float(value - last) / (now - before))
        if following in (last, value, None):
            break
        last, before, value, (now,) = value, now, following, measured([changed(following)])
    return None if now is None or now == before else value
