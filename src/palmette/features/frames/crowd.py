"""Hundreds of random events of a few entities, before and after the cut-off."""

from __future__ import annotations

from datetime import timedelta

from palmette.features.frames.asked import windows_of
from palmette.features.frames.exemplars import LONG_AGO
from palmette.features.frames.scene import Scene
from palmette.features.frames.studio import Entity, Row
from palmette.features.spec.dfr import Table

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
EVENTS = 250
ENTITIES = 6


def crowd(scene: Scene) -> None:
    """One part with everything in it: the entities meet each other."""
    studio = scene.studio
    rows: dict[str, list[Row]] = {name: [] for name in studio.view.tables}
    for name, table in studio.view.tables.items():
        if table not in studio.events():
            for number in range(ENTITIES - 1):
                rows[name] += _states(scene, table, Entity(number))
    links = sorted(set(studio.keys.links.values()))
    for table in studio.events():
        reach = max((window.timedelta or 120 * DAY for window in windows_of(studio.view, table)), default=30 * DAY)
        for _ in range(EVENTS):
            entity = Entity(0, {link: studio.random.randrange(ENTITIES) for link in links})
            late = studio.random.choice([timedelta(0), timedelta(0), HOUR, 3 * DAY])
            at = scene.cutoff - _distance(scene, reach)
            values = studio.random.choice([studio.wild(table), *(each.values[table.name] for each in scene.exemplars)])
            rows[table.name].append(studio.row(table, entity, values, at, available=at + late))
    scene.add("crowd", "random events", rows)


def _distance(scene: Scene, reach: timedelta) -> timedelta:
    """How long before the cut-off; whole days and hours are as frequent as anything else."""
    randomness = scene.studio.random
    scale = randomness.choice([DAY, 3 * DAY, reach, reach * 1.3])
    ago = randomness.random() * scale - 0.02 * scale
    return randomness.choice([ago, ago, ago // DAY * DAY, ago // HOUR * HOUR])


def _states(scene: Scene, table: Table, entity: Entity) -> list[Row]:
    studio = scene.studio
    if table == studio.spine:
        links = sorted(set(studio.keys.links.values()))
        pairs = [
            Entity(entity.number, {link: studio.random.randrange(ENTITIES + 1) for link in links}) for _ in range(5)
        ]
        apart = DAY if studio.view.cutoff == "spine" else timedelta(0)
        return [studio.row(table, pair, studio.wild(table), scene.cutoff - i * apart) for i, pair in enumerate(pairs)]
    if table.kind == "dimension":
        return [studio.row(table, entity, studio.wild(table), scene.cutoff - LONG_AGO)]
    begins = [scene.cutoff - days * DAY for days in (90, 30, 10, 2)]
    return [
        studio.row(table, entity, studio.wild(table), begin, until=end)
        for begin, end in zip(begins, [*begins[1:], None], strict=True)
    ]
