"""Rows that count: for every feature, an entity whose rows pass all conditions and give it a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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
    """Those whose value is not null, not nothing (0, false, empty) and not the default."""

    def rows(
        self, studio: Studio, entity: Entity, cutoff: datetime, *, without: Sequence[str] = ()
    ) -> dict[str, list[Row]]:
        """One row in each table: states valid since long ago, events shortly before the cut-off, a spine row at it."""
        return {
            name: [usual_row(studio, table, entity, self.values[name], cutoff)]
            for name, table in studio.view.tables.items()
            if name not in without
        }

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


def usual_row(studio: Studio, table: Table, entity: Entity, values: Values, cutoff: datetime) -> Row:
    """A row as it should count at the cut-off."""
    if table == studio.spine and table not in studio.events():
        return studio.row(table, entity, values, cutoff)
    if table.kind in ("snapshot", "scd2"):
        return studio.row(table, entity, values, max(cutoff - LONG_AGO, studio.earliest(table, cutoff)))
    return studio.row(table, entity, values, cutoff - max(SOON, studio.step(table)))


def find_exemplars(studio: Studio, cutoff: datetime, most: int = 4) -> list[Exemplar]:
    """A few entities that together give as many features as possible a value, the richest first."""
    prune(studio, cutoff)
    entities = [Entity(i) for i in range(TRIES)]
    values = [{name: studio.wild(table) for name, table in studio.view.tables.items()} for _ in entities]
    rows: dict[str, list[Row]] = {name: [] for name in studio.view.tables}
    for entity, chosen in zip(entities, values, strict=True):
        for name, table in studio.view.tables.items():
            rows[name].append(usual_row(studio, table, entity, chosen[name], cutoff))
    scores = _scores(studio, rows, cutoff)
    exemplars = [
        Exemplar(chosen, scores.get(repr(_grain(studio, entity)), frozenset()))
        for entity, chosen in zip(entities, values, strict=True)
    ]
    picked: list[Exemplar] = []
    covered: set[str] = set()
    while exemplars and len(picked) < most:
        best = max(exemplars, key=lambda each: (len(each.features - covered), len(each.features)))
        if picked and not best.features - covered:
            break
        picked.append(best)
        covered |= best.features
    return picked


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
    """By grain: the features with a value."""
    view = studio.view
    try:
        output = expected(view, studio.frames(rows, cutoff), None if view.cutoff == "spine" else cutoff)
    except (NotCovered, WouldFail):
        return {}
    scores: dict[str, frozenset[str]] = {}
    for row in output.rows:
        found = frozenset(
            feature.name
            for feature in view.features
            if row.get(feature.name) and row[feature.name] != feature.default
        )
        key = repr([row[name] for name in view.grain])
        scores[key] = scores.get(key, frozenset()) | found
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
