"""Runs of events of one entity, for steps that look at the event before."""

from __future__ import annotations

from palmette.features.frames.asked import lengths_of
from palmette.features.frames.exemplars import SOON, Exemplar
from palmette.features.frames.scene import Scene
from palmette.features.frames.scenes import HOUR, relevant
from palmette.features.spec.dfr import Table


def histories(scene: Scene) -> None:
    """Runs of events at telling distances."""
    studio = scene.studio
    for table in studio.events():
        if not any(source.table == table and source.late_by for source in studio.view.sources):
            continue
        about, step = f"history_of_{table.name}", studio.step(table)
        for exemplar in relevant(scene, table):
            for length in lengths_of(studio.view, table) or [HOUR]:
                for note, gap in (
                    ("exactly", length),
                    ("just less than", length - step),
                    ("just more than", length + step),
                    ("less than half of", length * 0.4),
                ):
                    entity = scene.entity()
                    rows = [
                        studio.row(table, entity, exemplar.varied(studio, table, i), scene.cutoff - SOON - i * gap)
                        for i in range(3)
                    ]
                    scene.case(exemplar, table, entity, rows, (about, f"{table.name} {note} {length} apart"))
            _across(scene, table, exemplar, about)
            _gaps_of_knowledge(scene, table, exemplar, about)


def _gaps_of_knowledge(scene: Scene, table: Table, exemplar: Exemplar, about: str) -> None:
    """Histories whose second event of three lacks a value."""
    studio = scene.studio
    for column in studio.free(table):
        if column.nullable:
            entity = scene.entity()
            values = [exemplar.varied(studio, table, i) for i in range(3)]
            values[1][column.name] = None
            rows = [studio.row(table, entity, given, scene.cutoff - SOON - i * HOUR) for i, given in enumerate(values)]
            scene.case(exemplar, table, entity, rows, (about, f"an event without {column.name} in between"))


def _across(scene: Scene, table: Table, exemplar: Exemplar, about: str) -> None:
    """Histories that the cut-off cuts, and with an event that is known too late."""
    studio = scene.studio
    entity = scene.entity()
    rows = [
        studio.row(table, entity, exemplar.varied(studio, table, i), scene.cutoff + hours * HOUR)
        for i, hours in enumerate((-60, -30, -3, -1, 0, 2))
    ]
    scene.case(exemplar, table, entity, rows, (about, "a history that goes on after the cut-off"))
    if table.available_time is not None:
        entity = scene.entity()
        rows = [
            studio.row(
                table,
                entity,
                exemplar.varied(studio, table, i),
                scene.cutoff - hours * HOUR,
                available=scene.cutoff + HOUR if i == 1 else None,
            )
            for i, hours in enumerate((60, 30, 3, 1))
        ]
        scene.case(exemplar, table, entity, rows, (about, "an event in between that is known too late"))
