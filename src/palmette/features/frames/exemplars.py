"""Rows that count: for every feature, an entity whose rows pass all conditions and give it a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from palmette.features.frames.asked import state_moments
from palmette.features.frames.studio import Entity, Row, Studio, Values
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
from palmette.features.spec.dfr import Table

TRIES = 240
LONG_AGO = timedelta(days=500)
SOON = timedelta(hours=2)


@dataclass(frozen=True)
class Exemplar:
    """An entity's values, without its keys and times."""

    values: Mapping[str, Values]
    """By table."""
    features: frozenset[str]
    """Those whose value is neither null nor the default, nor nothing (0, false, empty) where it can be something."""
    later: Mapping[str, Values] = field(default_factory=dict)
    """By table of states that are looked up both at events and at the cut-off: the state between the two."""
    quiet: Mapping[str, Values] = field(default_factory=dict)
    """By table: values with which an entity is there, and as few of these features as can be have a value."""

    def rows(
        self,
        studio: Studio,
        entity: Entity,
        cutoff: datetime,
        changed: Mapping[str, Values] = MappingProxyType({}),
        *,
        without: Sequence[str] = (),
    ) -> dict[str, list[Row]]:
        """One row in each table: states valid since long ago, events shortly before the cut-off, a spine row at it.

        A state that changes in between has two. `changed` are other values, by table.
        """
        return {
            name: self.rows_of(studio, table, entity, cutoff, changed.get(name, {}))
            for name, table in studio.view.tables.items()
            if name not in without
        }

    def rows_of(self, studio: Studio, table: Table, entity: Entity, cutoff: datetime, changed: Values) -> list[Row]:
        """Those of one table."""
        values, later = {**self.values[table.name], **changed}, self.later.get(table.name)
        return usual_rows(studio, table, entity, values, None if later is None else {**later, **changed}, cutoff)

    def contrast(self, studio: Studio, table: Table) -> Values:
        """Another value in every column that can have one."""
        given = self.values[table.name]
        others = {
            column.name: [value for value in studio.palettes[table.name, column.name] if value != given[column.name]]
            for column in studio.free(table)
        }
        return {**given, **{name: values[0] for name, values in others.items() if values}}

    def varied(self, studio: Studio, table: Table, number: int) -> dict[str, Any]:
        """The same values, but the `number`-th of each numeric palette."""
        given = dict(self.values[table.name])
        for column in studio.free(table):
            palette = studio.palettes[table.name, column.name]
            if palette and column.type.parsed.is_numeric:
                given[column.name] = palette[number % len(palette)]
        return given


def usual_row(
    studio: Studio, table: Table, entity: Entity, values: Values, cutoff: datetime, until: datetime | None = None
) -> Row:
    """A row as it should count at the cut-off."""
    if table == studio.spine and table not in studio.events():
        return studio.row(table, entity, values, cutoff)
    if table.kind in ("snapshot", "scd2"):
        return studio.row(table, entity, values, max(cutoff - LONG_AGO, studio.earliest(table, cutoff)), until=until)
    return studio.row(table, entity, values, cutoff - max(SOON, studio.step(table)))


def usual_rows(
    studio: Studio, table: Table, entity: Entity, values: Values, later: Values | None, cutoff: datetime
) -> list[Row]:
    """The usual row; of a state that changes between the usual event and the cut-off, both rows."""
    first = usual_row(studio, table, entity, values, cutoff)
    if later is None:
        return [first]
    change = cutoff - SOON / 2
    if table.valid_to:
        first = usual_row(studio, table, entity, values, cutoff, until=change)
    return [first, studio.row(table, entity, later, change)]


def find_exemplars(studio: Studio, cutoff: datetime, most: int = 4) -> list[Exemplar]:
    """A few entities that together give as many features as possible a value, the richest first."""
    prune(studio, cutoff)
    entities = [Entity(i) for i in range(TRIES)]
    tables = studio.view.tables
    values = [{name: studio.wild(table) for name, table in tables.items()} for _ in entities]
    changing = [table for table in tables.values() if state_moments(studio.view, table) == {"event", "cutoff"}]
    later = [{table.name: studio.wild(table) for table in changing} for _ in entities]
    rows: dict[str, list[Row]] = {name: [] for name in tables}
    for entity, chosen, then in zip(entities, values, later, strict=True):
        for name, table in tables.items():
            rows[name] += usual_rows(studio, table, entity, chosen[name], then.get(name), cutoff)
    scores = _scores(studio, rows, cutoff)
    exemplars = [
        Exemplar(chosen, scores.get(repr(_grain(studio, entity)), frozenset()), then)
        for entity, chosen, then in zip(entities, values, later, strict=True)
    ]
    there = [each for entity, each in zip(entities, exemplars, strict=True) if repr(_grain(studio, entity)) in scores]
    picked: list[Exemplar] = []
    covered: set[str] = set()
    while exemplars and len(picked) < most:
        best = max(exemplars, key=lambda each: (len(each.features - covered), len(each.features)))
        if picked and not best.features - covered:
            break
        picked.append(best)
        covered |= best.features
    return [replace(each, quiet=_quietest(there, each.features).values if there else {}) for each in picked]


def _quietest(exemplars: Sequence[Exemplar], features: frozenset[str]) -> Exemplar:
    return min(exemplars, key=lambda each: len(each.features & features))


def _grain(studio: Studio, entity: Entity) -> list[Any]:
    from palmette.features.frames.keys import GRAIN, Place
    from palmette.features.spec.dfr import Column
    from palmette.features.spec.values import TypeName

    values = []
    for key, kind in studio.view.grain.items():
        link = studio.keys.links[Place(GRAIN, key)]
        values.append(studio.keys.value(link, Column(name=key, type=TypeName(str(kind))), entity.key(link)))
    return values


def _scores(studio: Studio, rows: dict[str, list[Row]], cutoff: datetime) -> dict[str, frozenset[str]]:
    """By grain: the features with a value; 0, false and empty are values where no entity has another."""
    view = studio.view
    try:
        output = expected(view, studio.frames(rows, cutoff), None if view.cutoff == "spine" else cutoff)
    except (NotCovered, WouldFail):
        return {}
    found = [
        {each.name: row[each.name] for each in view.features if row.get(each.name) not in (None, each.default)}
        for row in output.rows
    ]
    something = {name for values in found for name, value in values.items() if value}
    scores: dict[str, frozenset[str]] = {}
    for row, values in zip(output.rows, found, strict=True):
        key = repr([row[name] for name in view.grain])
        named = frozenset(name for name, value in values.items() if value or name not in something)
        scores[key] = scores.get(key, frozenset()) | named
    return scores


def prune(studio: Studio, cutoff: datetime) -> None:
    """Takes values that make Spark fail (a cast of text that is no number, say) out of the palettes."""
    for table in studio.view.tables.values():
        usual = {
            column.name: next(iter(studio.palettes[table.name, column.name]), None) for column in studio.free(table)
        }
        for column in studio.free(table):
            values = studio.palettes[table.name, column.name]
            if column.type.parsed.name in ("boolean", "array", "map") or not _fails(
                studio, table, [{**usual, column.name: value} for value in values], cutoff
            ):
                continue
            studio.palettes[table.name, column.name] = [
                value for value in values if not _fails(studio, table, [{**usual, column.name: value}], cutoff)
            ]
            usual[column.name] = next(iter(studio.palettes[table.name, column.name]), None)


def _fails(studio: Studio, table: Table, values: list[Values], cutoff: datetime) -> bool:
    rows: dict[str, list[Row]] = {name: [] for name in studio.view.tables}
    for number, chosen in enumerate(values):
        for name, each in studio.view.tables.items():
            given = chosen if each == table else {}
            rows[name].append(usual_row(studio, each, Entity(number), given, cutoff))
    view = studio.view
    try:
        expected(view, studio.frames(rows, cutoff), None if view.cutoff == "spine" else cutoff)
    except WouldFail:
        return True
    except NotCovered:
        return False
    return False
