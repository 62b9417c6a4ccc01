"""Generates rows that are valid for the registry, linked by keys and placed in time; knows how a view uses tables."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from palmette.documents import Model
from palmette.features.frame import Frame, distinct_by
from palmette.features.frames.calendar import as_value, dated
from palmette.features.frames.keys import ColumnRef, KeyFactory
from palmette.features.frames.value_pool import PredicateValues, value_pool
from palmette.features.oracle.clock import DAY, MICROSECOND
from palmette.features.oracle.states import Times
from palmette.features.spec import Aggregate, Expression, Lookup, RegisteredColumn, Table, View, ViewSource, Window
from palmette.features.spec.fsc_steps import Join, Member, pairs, reads_of

Row = dict[str, Any]
Values = Mapping[str, Any]
"""Column to value, without keys and times."""
LONG_AGO = timedelta(days=500)
STRANGERS = 1000
"""Offset for the numbers of entities that appear only as keys in rows of others."""


@dataclass(frozen=True)
class EntityNumbers:
    """The numbers of an entity's keys, by link."""

    number: int
    others: Mapping[ColumnRef, int] = field(default_factory=dict)
    """Links whose key has a number other than `number`."""

    def key(self, link: ColumnRef) -> int:
        return self.others.get(link, self.number)

    def stranger(self, links: Iterable[ColumnRef], number: int = 1) -> EntityNumbers:
        """The entity with keys on these links that no other entity has."""
        return EntityNumbers(self.number, {link: self.number + number * STRANGERS for link in links})


class Event(NamedTuple):
    """An event of an entity."""

    at: datetime
    values: Values
    available: datetime | None = None
    others: tuple[ColumnRef, ...] = ()
    """Links on which it belongs to a stranger."""
    stranger: int = 1
    """Number of the stranger."""


class RowFactory:
    """Generates rows and frames for all scenarios of a view."""

    def __init__(self, view: View, seed: int) -> None:
        self.view = view
        self.random = random.Random(seed)
        self.zone = ZoneInfo(view.zone)
        self.keys = KeyFactory(view)
        self.predicate_values = PredicateValues(view)
        self.value_pools = {
            (table.name, column.name): value_pool(column, self.predicate_values)
            for table in view.tables.values()
            for column in table.columns
        }
        self._serial: Counter[str] = Counter()

    def tables(self, *kinds: str) -> list[Table]:
        return [table for table in self.view.tables.values() if table.kind in kinds]

    @cached_property
    def soon(self) -> timedelta:
        """How long before the cut-off usual events happen: inside every window."""
        windows = (feature.window for feature in self.view.features)
        return min([timedelta(hours=2), *(each.timedelta / 2 for each in windows if each is not None)])

    @property
    def spine(self) -> Table | None:
        return self.view.tables[self.view.spine.table] if self.view.spine is not None else None

    def events(self) -> list[Table]:
        """Event tables that features are computed from."""
        used = {source.table.name for source in self.view.sources}
        return [table for table in self.tables("event") if table.name in used]

    def looks_back(self, table: Table) -> bool:
        """Whether a source of the table has steps that look at previous events."""
        return any(source.table == table and source.late_by is not None for source in self.view.sources)

    def windows_of(self, table: Table) -> list[Window]:
        """The distinct windows of features on a table."""
        names = [source.name for source in self.view.sources if source.table == table]
        found = [feature.window for feature in self.view.features if feature.source in names]
        return [window for window in dict.fromkeys(found) if window is not None]

    def state_moments(self, table: Table) -> set[str]:
        """The times at which the table is looked into: `event`, `cutoff` or both."""
        lookups = [each.computation for each in self.view.features if isinstance(each.computation, Lookup)]
        moments = {"cutoff" for lookup in lookups if lookup.table == table.name}
        moments |= {"cutoff" for source in self.view.sources if source.table == table}
        return moments | {read.at for _, read in self._reads() if read.table == table.name}

    def joined_to(self, table: Table) -> list[Table]:
        """Tables whose rows look up states of the table at their own event time."""
        found = {one.name: one for one, read in self._reads() if read.table == table.name and read.at == "event"}
        return list(found.values())

    def columns_joined(self, table: Table) -> dict[str, set[str]]:
        """By joined table: the columns that rows of the table take from it."""
        found: dict[str, set[str]] = {}
        for one, read in self._reads():
            if isinstance(read, Join) and one == table:
                found.setdefault(read.table, set()).update(pairs(read.columns).values())
        return found

    def _reads(self) -> list[tuple[Table, Join | Member]]:
        """Each table with a join or membership of its rows in another table."""
        return [(source.table, read) for source in self.view.sources for read in reads_of(source.steps)]

    def lengths_of(self, table: Table) -> list[timedelta]:
        """The durations between events that matter to session and gap steps."""
        found: list[timedelta] = []
        for step in (step for source in self.view.sources if source.table == table for step in source.late):
            if step.session:
                found.append(step.session.timeout.timedelta)
            elif step.gap:
                found.append(timedelta(**{step.gap.unit: 1}))
        return list(dict.fromkeys(found))

    def free(self, table: Table) -> list[RegisteredColumn]:
        """Columns that are neither keys, nor times, nor partitions by time."""
        taken: set[str | None] = {*table.times, *table.keys, *(part.column for part in table.partitions if part.of)}
        if self.view.spine is not None and self.view.spine.table == table.name:
            taken.add(self.view.spine.cutoff)
        return [each for each in table.columns if each.name not in taken and not self.keys.link(table, each.name)]

    def bare(self, table: Table, source: ViewSource, computation: Aggregate | Expression) -> dict[str, Any]:
        """Null, or else zero, for the columns of a source's table that neither its steps nor the computation name."""
        read = words(computation).union(*map(words, source.steps))
        free = [each for each in self.free(table) if each.name not in read]
        numbers = {each.name: _zero(each) for each in free if each.type.parsed.is_numeric and not each.values}
        return {**numbers, **{each.name: None for each in free if each.nullable}}

    def wild(self, table: Table) -> Values:
        """Random valid values."""
        return {column.name: self._pick(table, column) for column in self.free(table)}

    def _pick(self, table: Table, column: RegisteredColumn) -> Any:
        values = self.value_pools[table.name, column.name]
        if not values or (column.nullable and self.random.random() < 0.06):
            return None if column.nullable else _zero(column)
        return self.random.choice(values)

    def row(
        self,
        table: Table,
        entity: EntityNumbers,
        values: Values,
        at: datetime,
        *,
        available: datetime | None = None,
        until: datetime | None = None,
    ) -> Row:
        """A row with event time (or start of validity) `at`, available at `available` or by default at `at`."""
        times = {table.event_time or table.valid_from: at, table.available_time: available or at, table.valid_to: until}
        if self.view.spine is not None and self.view.spine.table == table.name:
            times[self.view.spine.cutoff] = at
        row = {column.name: self._value(table, column, entity, values) for column in table.columns}
        for column in (each for each in table.columns if each.name in times):
            time = as_value(times[column.name], column, self.zone)
            row[column.name] = time if time is not None or column.nullable else row[column.name]
        return dated(table, row, self.zone)

    def usual_row(
        self, table: Table, entity: EntityNumbers, values: Values, cutoff: datetime, until: datetime | None = None
    ) -> Row:
        """A row that counts at the cut-off; one of a table that features only look into counts at events, too."""
        if table in self.events():
            return self.row(table, entity, values, cutoff - max(self.soon, self.step(table)))
        begin = cutoff if table == self.spine else max(cutoff - LONG_AGO, self.earliest(table, cutoff))
        return self.row(table, entity, values, begin, until=until)

    def usual_rows(
        self, table: Table, entity: EntityNumbers, values: Values, later: Values | None, cutoff: datetime
    ) -> list[Row]:
        """The usual row, with an earlier one where a source looks back, or with the state that follows it."""
        if later is None:
            earlier = [self.row(table, entity, values, cutoff - 2 * max(self.soon, self.step(table)))]
            return [self.usual_row(table, entity, values, cutoff), *earlier * self.looks_back(table)]
        change = cutoff - self.soon / 2
        first = self.usual_row(table, entity, values, cutoff, until=change if table.valid_to else None)
        return [first, self.row(table, entity, later, change)]

    def _value(self, table: Table, column: RegisteredColumn, entity: EntityNumbers, values: Values) -> Any:
        link = self.keys.link(table, column.name)
        if link is not None:
            return self.keys.value(link, column, entity.key(link))
        if column.name in table.keys:
            self._serial[table.name] += 1
            return self.keys.value(ColumnRef(table.name, column.name), column, self._serial[table.name])
        if column.name in values:
            return values[column.name]
        plain = self.value_pools[table.name, column.name]
        return plain[0] if plain else None if column.nullable else _zero(column)

    def step(self, table: Table) -> timedelta:
        """The resolution of the table's times."""
        column = table.column(table.event_time or table.valid_from or "")
        unit = None if column is None else "d" if column.type.parsed.name == "date" else column.unit
        return {"d": DAY, "s": timedelta(seconds=1), "ms": timedelta(milliseconds=1)}.get(unit or "", MICROSECOND)

    def earliest(self, table: Table, cutoff: datetime) -> datetime:
        """The earliest time that the table's retention allows."""
        return cutoff - (table.retention.timedelta if table.retention else timedelta(days=3650))

    def frames(self, rows: Mapping[str, Iterable[Row]], cutoff: datetime) -> dict[str, Frame]:
        """All tables of the view; drops rows that violate retention or unique keys."""
        frames = {}
        for name, table in self.view.tables.items():
            kept, times = list(rows.get(name, ())), Times(table, self.zone)
            if table.retention is not None:
                earliest = self.earliest(table, cutoff)
                kept = [row for row in kept if (at := times.at(row, table.event_time)) is None or at >= earliest]
            if table.kind != "event":
                kept = distinct_by(kept, [*table.keys, *filter(None, (table.event_time, table.valid_from))])
            elif table.keys_enforced:
                kept = distinct_by(kept, table.keys)
            frames[name] = Frame.of(table.column_types, kept)
        return frames


def words(part: Model) -> set[str]:
    """The words in a part of the specification, names of columns among them."""
    return set(re.findall(r"\w+", str([*part.model_dump().values()])))


def _zero(column: RegisteredColumn) -> Any:
    """A default for a column that cannot be null."""
    kind = column.type.parsed.name
    return {"string": "x", "boolean": False, "decimal": Decimal(0), "array": [], "map": {}, "binary": b""}.get(kind, 0)
