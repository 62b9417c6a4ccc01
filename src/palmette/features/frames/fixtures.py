"""Fixtures (entities for which features have values), and the builder that makes scenarios of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from palmette.features.frame import Frame
from palmette.features.frames.keys import GRAIN, ColumnRef
from palmette.features.frames.row_factory import EntityNumbers, Event, Row, RowFactory, Values
from palmette.features.oracle import NotCovered, WouldFail, expected
from palmette.features.spec import RegisteredColumn, Table, TypeName, View

TRIES = 240

Changes = Mapping[str, Values]
"""Values to override, by table."""
UNCHANGED: Changes = MappingProxyType({})


@dataclass(frozen=True)
class Fixture:
    """An entity's values, without its keys and times."""

    factory: RowFactory
    values: Mapping[str, Values]
    """Values by table."""
    features: frozenset[str]
    """The features with a value other than null, the default and, if another entity has one, 0, false or empty."""
    later: Mapping[str, Values] = field(default_factory=dict)
    """For tables whose states are looked up both at events and at the cut-off: the values of the later state."""
    quiet: Mapping[str, Values] = field(default_factory=dict)
    """Values by table for which the entity has an output row, but as few of these features as possible have a value."""

    def rows(
        self, entity: EntityNumbers, cutoff: datetime, changed: Changes = UNCHANGED, without: Sequence[str] = ()
    ) -> dict[str, list[Row]]:
        """The entity's rows by table: old states, events shortly before the cut-off, and a spine row at the cut-off.

        A state that changes in between has two rows. `changed` overrides values, by table.
        """
        tables = [table for name, table in self.factory.view.tables.items() if name not in without]
        return {one.name: self.rows_of(one, entity, cutoff, changed.get(one.name, {})) for one in tables}

    def rows_of(self, table: Table, entity: EntityNumbers, cutoff: datetime, changed: Values) -> list[Row]:
        """The entity's rows in one table."""
        values, later = {**self.values[table.name], **changed}, self.later.get(table.name)
        return self.factory.usual_rows(table, entity, values, None if later is None else {**later, **changed}, cutoff)

    def contrast(self, table: Table, number: int = 0) -> Values:
        """The values, with the `number`-th other one in every column whose pool has another."""
        changed = dict(self.values[table.name])
        for column in self.factory.free(table):
            pool = self.factory.value_pools[table.name, column.name]
            if others := [each for each in pool if each != changed[column.name]]:
                changed[column.name] = others[number % len(others)]
        return changed

    def varied(self, table: Table, number: int) -> dict[str, Any]:
        """The values, with the `number`-th of the pool in every numeric column."""
        given = dict(self.values[table.name])
        for column in self.factory.free(table):
            value_pool = self.factory.value_pools[table.name, column.name]
            if value_pool and column.type.parsed.is_numeric:
                given[column.name] = value_pool[number % len(value_pool)]
        return given


def find_fixtures(factory: RowFactory, cutoff: datetime, most: int = 4) -> list[Fixture]:
    """Chooses a few entities that together give values to as many features as possible, the richest first."""
    prune(factory, cutoff)
    entities = [EntityNumbers(i) for i in range(TRIES)]
    tables = factory.view.tables
    values = [{name: factory.wild(table) for name, table in tables.items()} for _ in entities]
    changing = [table for table in tables.values() if factory.state_moments(table) == {"event", "cutoff"}]
    later = [{table.name: factory.wild(table) for table in changing} for _ in entities]
    tried = [Fixture(factory, chosen, frozenset(), then) for chosen, then in zip(values, later, strict=True)]
    rows: dict[str, list[Row]] = defaultdict(list)
    for entity, fixture in zip(entities, tried, strict=True):
        for name, each in fixture.rows(entity, cutoff).items():
            rows[name] += each
    scores = _scores(factory, rows, cutoff)
    found = [scores.get(repr(grain_of(factory, entity))) for entity in entities]
    fixtures = [replace(each, features=one or frozenset()) for each, one in zip(tried, found, strict=True)]
    there = [each for each, one in zip(fixtures, found, strict=True) if one is not None]
    picked: list[Fixture] = []
    covered: set[str] = set()
    while fixtures and len(picked) < most:
        best = max(fixtures, key=lambda each: (len(each.features - covered), len(each.features)))
        if picked and not best.features - covered:
            break
        picked.append(best)
        covered |= best.features
    if not there:
        return picked
    quiet = [min(there, key=lambda one: len(one.features & each.features)) for each in picked]
    return [replace(each, quiet=one.values) for each, one in zip(picked, quiet, strict=True)]


def grain_of(factory: RowFactory, entity: EntityNumbers) -> list[Any]:
    """The keys of the entity's row in the output."""
    values = []
    for key, kind in factory.view.grain.items():
        link = factory.keys.links[ColumnRef(GRAIN, key)]
        values.append(factory.keys.value(link, RegisteredColumn(name=key, type=TypeName(str(kind))), entity.key(link)))
    return values


def _scores(factory: RowFactory, rows: dict[str, list[Row]], cutoff: datetime) -> dict[str, frozenset[str]]:
    """By grain: the features with a value. 0, false and empty count only if no entity has another value."""
    defaults = {each.name: each.default for each in factory.view.features}
    found = [
        (key, {name: row[name] for name, default in defaults.items() if row.get(name) not in (None, default)})
        for key, row in outputs(factory.view, factory, rows, cutoff)
    ]
    something = {name for _, values in found for name, value in values.items() if value}
    scores: dict[str, frozenset[str]] = {}
    for key, values in found:
        named = frozenset(name for name, value in values.items() if value or name not in something)
        scores[key] = scores.get(key, frozenset()) | named
    return scores


def outputs(
    view: View, factory: RowFactory, rows: Mapping[str, Sequence[Row]], cutoff: datetime
) -> list[tuple[str, Mapping[str, Any]]]:
    """The rows of a view of the factory's tables, each after its grain as text; none if the oracle has no answer."""
    try:
        output = expected(view, factory.frames(rows, cutoff), cutoff)
    except (NotCovered, WouldFail):
        return []
    return [(repr([row[name] for name in view.grain]), row) for row in output.rows]


def prune(factory: RowFactory, cutoff: datetime) -> None:
    """Removes values that make Spark fail from the pools, such as text that cannot be cast to a number."""
    for table in factory.view.tables.values():
        for column in factory.free(table):
            pool = factory.value_pools[table.name, column.name]
            changed = [{column.name: value} for value in pool]
            if column.type.parsed.name not in ("boolean", "array", "map") and _fails(factory, table, changed, cutoff):
                pool[:] = [each[column.name] for each in changed if not _fails(factory, table, [each], cutoff)]


def _fails(factory: RowFactory, table: Table, values: Sequence[Values], cutoff: datetime) -> bool:
    rows: dict[str, list[Row]] = {name: [] for name in factory.view.tables}
    for number, chosen in enumerate(values):
        for name, each in factory.view.tables.items():
            given = chosen if each == table else {}
            rows[name].append(factory.usual_row(each, EntityNumbers(number), given, cutoff))
    return would_fail(factory.view, factory.frames(rows, cutoff), cutoff)


def would_fail(view: View, frames: Mapping[str, Frame], as_of: datetime | None) -> bool:
    """Whether Spark fails on a right script; False if the oracle cannot tell."""
    try:
        expected(view, frames, as_of)
    except WouldFail:
        return True
    except NotCovered:
        pass
    return False


Rows = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class EntityRows:
    """The rows of one entity in a scenario."""

    theme: str
    """The topic in snake case, e.g. `redemptions_at_the_edges`."""
    note: str
    """The special property as a phrase, e.g. `redemptions exactly at the cut-off`."""
    rows: Rows


@dataclass
class ScenarioBuilder:
    """Collects independent parts of a scenario, at one cut-off."""

    factory: RowFactory
    fixtures: list[Fixture]
    cutoff: datetime
    parts: list[EntityRows] = field(default_factory=list)
    count: int = 0

    def entity(self) -> EntityNumbers:
        """A new entity that no other part uses."""
        self.count += 1
        return EntityNumbers(self.count - 1)

    @property
    def usual(self) -> datetime:
        """When usual events happen."""
        return self.cutoff - self.factory.soon

    def fixture_of(self, feature: str) -> Fixture:
        """The first fixture that gives the feature a value, or else the richest."""
        return next((each for each in self.fixtures if feature in each.features), self.fixtures[0])

    def add(self, theme: str, note: str, rows: Rows) -> None:
        self.parts.append(EntityRows(theme, note, rows))

    def case(
        self, fixture: Fixture, table: Table, entity: EntityNumbers, rows: Sequence[Row], about: tuple[str, str]
    ) -> None:
        """Adds the fixture's rows for the entity, but with `rows` in `table`; `about` is theme and note."""
        factory, spine = self.factory, self.factory.spine
        given = fixture.rows(entity, self.cutoff)
        given[table.name] = list(rows)
        if table == spine and table in factory.events():
            given[table.name].append(factory.row(table, entity, fixture.values[table.name], self.cutoff))
        self.add(*about, given)

    def events(
        self,
        fixture: Fixture,
        table: Table,
        events: Iterable[Event],
        about: tuple[str, str],
        *,
        backwards: bool = False,
    ) -> None:
        """As `case`, for a new entity with these events; with descending keys if `backwards`."""
        entity = self.entity()
        rows = []
        for at, values, available, others, number in events:
            owner = entity.stranger(others, number)
            rows.append(self.factory.row(table, owner, values, at, available=available))
        self.case(fixture, table, entity, rows[::-1] if backwards else rows, about)

    def rows(self) -> dict[str, list[Row]]:
        """The rows of all parts, by table."""
        found: dict[str, list[Row]] = defaultdict(list)
        for part in self.parts:
            for name, rows in part.rows.items():
                found[name] += rows
        return found
