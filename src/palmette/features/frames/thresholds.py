"""As many events, and events as long ago, as conditions on features of the view name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from palmette.features.frames.exemplars import SOON, Exemplar
from palmette.features.frames.keys import GRAIN
from palmette.features.frames.scene import Scene
from palmette.features.frames.scenes import DAY, HOUR, stranger
from palmette.features.frames.studio import Entity, Row
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate
from palmette.features.spec.view import ViewFeature

_COUNTS = ("count", "count_distinct", "approx_count_distinct")
MOST_EVENTS = 12
"""Conditions on higher counts are left to chance: cases are for people to read."""
MOST_THRESHOLDS = 6
"""Of one feature."""


def thresholds(scene: Scene) -> None:
    """For each count and recency that something is computed from, rows on both sides of every number it meets there."""
    for feature in scene.studio.view.features:
        computed = feature.computation
        known = scene.studio.clues.literals.get(feature.name, [])
        numbers = [each for each in dict.fromkeys(known) if not isinstance(each, str | bool) and each > 0]
        if not isinstance(computed, Aggregate) or not numbers:
            continue
        table = scene.studio.view.source(computed.source).table
        if table.kind != "event":
            continue
        exemplar = next((each for each in scene.exemplars if feature.name in each.features), scene.exemplars[0])
        for number in numbers[:MOST_THRESHOLDS]:
            if computed.function == "days_since_last":
                _ages(scene, feature, table, exemplar, number)
            elif computed.function in _COUNTS and number <= MOST_EVENTS:
                _counts(scene, feature, table, exemplar, int(number))


def _ages(scene: Scene, feature: ViewFeature, table: Table, exemplar: Exemplar, days: float) -> None:
    studio, step = scene.studio, scene.studio.step(table)
    for note, more in (("exactly", timedelta(0)), ("just more than", step), ("just less than", -step)):
        entity = scene.entity()
        rows = [studio.row(table, entity, exemplar.values[table.name], scene.cutoff - days * DAY - more)]
        about = f"thresholds_of_{feature.name}", f"{table.name} {note} {days:g} days before the cut-off"
        scene.case(exemplar, table, entity, rows, about)


def _counts(scene: Scene, feature: ViewFeature, table: Table, exemplar: Exemplar, number: int) -> None:
    for count in (number - 1, number, number + 1):
        if count > 0:
            entity = scene.entity()
            rows = list(_several(scene, feature, table, exemplar, entity))[:count]
            about = f"thresholds_of_{feature.name}", f"{count} {table.name}"
            scene.case(exemplar, table, entity, rows, about)


def _several(scene: Scene, feature: ViewFeature, table: Table, exemplar: Exemplar, entity: Entity) -> Iterator[Row]:
    """Events that count, each at its own time; where distinct values are counted, each with its own."""
    studio, apart = scene.studio, max(HOUR, scene.studio.step(table))
    assert isinstance(feature.computation, Aggregate)
    column = table.column(feature.computation.of or "")
    link = studio.keys.link(table, column.name) if column is not None else None
    palette = studio.palettes[table.name, column.name] if column in studio.free(table) else []
    for index in range(MOST_EVENTS + 1):
        values = dict(exemplar.values[table.name])
        if column is not None and palette and feature.computation.function != "count":
            values[column.name] = palette[index % len(palette)]
        other = stranger(entity, [link] if link is not None and link.table != GRAIN else [], index)
        yield studio.row(table, other, values, scene.cutoff - max(SOON, studio.step(table)) - index * apart)
