"""States of tables that keep them, one after the other around the moments at which they are looked up."""

from __future__ import annotations

from datetime import datetime, timedelta

from palmette.features.frames.asked import joined_to, state_moments
from palmette.features.frames.exemplars import SOON
from palmette.features.frames.scene import Scene
from palmette.features.frames.scenes import DAY
from palmette.features.frames.studio import Entity, Row, Values
from palmette.features.spec.dfr import Table


def states(scene: Scene) -> None:
    """Successive states whose times touch the cut-off or an event."""
    studio, none = scene.studio, timedelta(0)
    for table in studio.tables("snapshot", "scd2"):
        asked = state_moments(studio.view, table)
        moments = [("cut-off", scene.cutoff)] if "cutoff" in asked else []
        moments += [("event", scene.cutoff - SOON)] if "event" in asked else []
        step = studio.step(table)
        for what, moment in moments:
            if table.kind == "snapshot" and table.available_time is not None:
                _overtaken(scene, table, what, moment)
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
                entity = scene.entity()
                rows = _successive(
                    scene,
                    table,
                    entity,
                    (moment + first, moment + second),
                    None if end is None else moment + end,
                )
                scene.case(scene.exemplars[0], table, entity, rows, (f"states_of_{table.name}", note))
        _meanwhile(scene, table)


def _overtaken(scene: Scene, table: Table, what: str, moment: datetime) -> None:
    """An old state that is known only after a newer one."""
    studio, entity = scene.studio, scene.entity()
    old, new = _two(scene, table, entity)
    rows = [
        studio.row(table, entity, old, moment - 10 * DAY, available=moment - DAY),
        studio.row(table, entity, new, moment - 5 * DAY),
    ]
    note = f"an older state known after a newer one, before the {what}"
    scene.case(scene.exemplars[0], table, entity, rows, (f"states_of_{table.name}", note))


def _meanwhile(scene: Scene, table: Table) -> None:
    """Events that a join looks up states for, and that are known only after the next state has begun."""
    studio, exemplar = scene.studio, scene.exemplars[0]
    for events in joined_to(studio.view, table):
        if events.available_time is None:
            continue
        entity, unit = scene.entity(), max(SOON / 4, studio.step(table), studio.step(events))
        given = {name: list(each) for name, each in exemplar.rows(studio, entity, scene.cutoff).items()}
        at, change, known = (scene.cutoff - units * unit for units in (4, 2, 1))
        given[events.name] = [studio.row(events, entity, exemplar.values[events.name], at, available=known)]
        given[table.name] = _successive(scene, table, entity, (at - 10 * DAY, change), None)
        scene.add(f"states_of_{table.name}", f"a new state between {events.name} and when they are known", given)


def _successive(
    scene: Scene, table: Table, entity: Entity, begins: tuple[datetime, datetime], end: datetime | None
) -> list[Row]:
    first, second = _two(scene, table, entity)
    return [
        scene.studio.row(table, entity, first, begins[0], until=begins[1]),
        scene.studio.row(table, entity, second, begins[1], until=end),
    ]


def _two(scene: Scene, table: Table, entity: Entity) -> tuple[Values, Values]:
    """Values that differ in every column that can."""
    studio, first = scene.studio, scene.exemplars[0].values[table.name]
    second = dict(first)
    for column in studio.free(table):
        others = [value for value in studio.palettes[table.name, column.name] if value != first[column.name]]
        second[column.name] = others[entity.number % len(others)] if others else first[column.name]
    return first, second
