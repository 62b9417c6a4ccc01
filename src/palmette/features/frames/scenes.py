"""What each scenario puts into the tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from palmette.features.frames.exemplars import LONG_AGO, SOON, Exemplar, usual_row
from palmette.features.frames.scenarios import Scene, lengths_of, state_moments, windows_of
from palmette.features.frames.studio import Entity, Row
from palmette.features.oracle.clock import day_of, midnight, window_start
from palmette.features.spec.dfr import Table

DAY, HOUR, SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)
CROWD = 250


def boundaries(scene: Scene) -> None:
    """An event at every telling instant, one entity each."""
    for table in scene.studio.events():
        for exemplar in _relevant(scene, table):
            for at, available in _instants(scene, table):
                scene.case(exemplar, table, lambda entity, t=table, e=exemplar, a=at, k=available: [  # type: ignore[misc]
                    scene.studio.row(t, entity, e.values[t.name], a, available=k)])
    _later_cutoffs(scene)


def _relevant(scene: Scene, table: Table) -> list[Exemplar]:
    """Exemplars that add something for the features of a table."""
    view = scene.studio.view
    names = {feature.name for feature in view.features
             if feature.source is not None and view.source(feature.source).table == table}
    found, covered = [], set[str]()
    for exemplar in scene.exemplars:
        if not found or exemplar.features & names - covered:
            found.append(exemplar)
            covered |= exemplar.features & names
    return found


def _instants(scene: Scene, table: Table) -> Iterator[tuple[datetime, datetime | None]]:
    """Event and availability times."""
    cutoff, zone, step = scene.cutoff, scene.studio.zone, scene.studio.step(table)
    for at in (cutoff, cutoff - step, cutoff + step, cutoff - SOON, cutoff + DAY, midnight(day_of(cutoff, zone), zone)):
        yield at, None
    for window in windows_of(scene.studio.view, table):
        start = window_start(cutoff, window, zone)
        if start is not None:
            for at in (start, start - step, start + step, midnight(day_of(start, zone), zone), start - DAY):
                yield at, None
            if window.unit == "d":
                yield cutoff - window.amount * DAY, None
    yield cutoff - LONG_AGO, None
    if table.available_time is not None:
        for available in (cutoff, cutoff - timedelta(microseconds=1), cutoff + HOUR):
            yield cutoff - 2 * DAY, available
        yield cutoff - HOUR, cutoff - 3 * DAY


def _later_cutoffs(scene: Scene) -> None:
    """Where every row of the spine has its own cut-off: further ones for the first entities."""
    spine = scene.studio.spine
    if spine is None or scene.studio.view.cutoff != "spine":
        return
    for number in range(min(scene.count, 12)):
        for later in (DAY, timedelta(microseconds=1), -DAY):
            scene.rows[spine.name].append(scene.studio.row(
                spine, Entity(number), scene.exemplars[0].values[spine.name], scene.cutoff + later))


def values(scene: Scene) -> None:
    """Every value of every palette, one entity each."""
    for table in scene.studio.view.tables.values():
        for column in scene.studio.free(table):
            for value in scene.studio.palettes[table.name, column.name]:
                for exemplar in _relevant(scene, table)[:1] or scene.exemplars[:1]:
                    scene.case(exemplar, table, lambda entity, t=table, e=exemplar, c=column.name, v=value: [  # type: ignore[misc]
                        usual_row(scene.studio, t, entity, {**e.values[t.name], c: v}, scene.cutoff)])


def absences(scene: Scene) -> None:
    """Nulls, and entities that lack rows."""
    exemplar = scene.exemplars[0]
    for table in scene.studio.view.tables.values():
        entity = scene.entity()
        scene.add(exemplar.rows(scene.studio, entity, scene.cutoff, without=[table.name]))
        for column in table.columns:
            if column.nullable and column.name not in table.keys:
                scene.case(exemplar, table, lambda entity, t=table, c=column.name: [  # type: ignore[misc]
                    _without(scene, t, usual_row(scene.studio, t, entity, exemplar.values[t.name], scene.cutoff), c)])
    _alone(scene)
    _strangers(scene)


def _without(scene: Scene, table: Table, row: Row, column: str) -> Row:
    return scene.studio.dated(table, {**row, column: None})


def _alone(scene: Scene) -> None:
    """Entities with rows in one table only."""
    exemplar = scene.exemplars[0]
    for table in scene.studio.view.tables.values():
        entity = scene.entity()
        scene.rows[table.name].append(
            usual_row(scene.studio, table, entity, exemplar.values[table.name], scene.cutoff))


def _strangers(scene: Scene) -> None:
    """Rows in which one key belongs to somebody else."""
    exemplar = scene.exemplars[0]
    for table in scene.studio.view.tables.values():
        links = [link for column in table.columns if (link := scene.studio.keys.link(table, column.name)) is not None]
        for link in links:
            entity = scene.entity()
            scene.add(exemplar.rows(scene.studio, entity, scene.cutoff, without=[table.name]))
            stranger = Entity(entity.number, {link: entity.number + 1000})
            scene.rows[table.name].append(
                usual_row(scene.studio, table, stranger, exemplar.values[table.name], scene.cutoff))


def repeats(scene: Scene) -> None:
    """Several events of one entity: equal values, equal frequencies, equal times, repeated rows."""
    studio = scene.studio
    for table in studio.events():
        for exemplar in _relevant(scene, table):
            plain = exemplar.values[table.name]
            scene.case(exemplar, table, lambda entity, t=table, v=plain: [  # type: ignore[misc]
                studio.row(t, entity, v, scene.cutoff - hours * HOUR) for hours in (2, 3, 3, 50)])
            for column in studio.free(table):
                palette = studio.palettes[table.name, column.name][:4]
                for order in (palette, palette[::-1], [*palette, *palette]):
                    scene.case(exemplar, table, lambda entity, t=table, v=plain, c=column.name, o=order: [  # type: ignore[misc]
                        studio.row(t, entity, {**v, c: value}, scene.cutoff - (2 + i // 2) * HOUR)
                        for i, value in enumerate(o)])
            if not table.keys_enforced:
                scene.case(exemplar, table, lambda entity, t=table, v=plain: _twice(scene, t, entity, v))  # type: ignore[misc]
    spine = studio.spine
    if spine is not None and not spine.keys_enforced:
        scene.rows[spine.name] += [dict(row) for row in scene.rows[spine.name][:5]]


def _twice(scene: Scene, table: Table, entity: Entity, values: dict[str, object]) -> list[Row]:
    row = scene.studio.row(table, entity, values, scene.cutoff - SOON)
    other = scene.studio.row(table, entity, values, scene.cutoff - 5 * HOUR)
    return [row, dict(row), {**other, **{key: row[key] for key in table.keys}}]


def states(scene: Scene) -> None:
    """Successive states whose times touch the cut-off or an event."""
    studio = scene.studio
    for table in studio.tables("snapshot", "scd2", "dimension"):
        if table.kind == "dimension":
            continue
        moments = [scene.cutoff] if "cutoff" in state_moments(studio.view, table) else []
        moments += [scene.cutoff - SOON] if "event" in state_moments(studio.view, table) else []
        step = studio.step(table)
        for moment in moments:
            for first, second, end in (
                (-10 * DAY, -DAY, None), (-10 * DAY, timedelta(0), None), (-10 * DAY, -step, None),
                (-10 * DAY, step, None), (-DAY, DAY, None), (-10 * DAY, -5 * DAY, timedelta(0)),
                (-10 * DAY, -5 * DAY, -step), (-10 * DAY, -5 * DAY, step), (timedelta(0), DAY, None),
            ):
                scene.case(scene.exemplars[0], table, lambda entity, t=table, m=moment, a=first, b=second, e=end: (  # type: ignore[misc]
                    _successive(scene, t, entity, m + a, m + b, None if e is None else m + e)))


def _successive(scene: Scene, table: Table, entity: Entity, first: datetime, second: datetime,
                end: datetime | None) -> list[Row]:
    studio = scene.studio
    values = [scene.exemplars[0].values[table.name], dict(studio.wild(table))]
    for column in studio.free(table):
        palette = studio.palettes[table.name, column.name]
        others = [value for value in palette if value != values[0][column.name]]
        if others:
            values[1] = {**values[1], column.name: others[entity.number % len(others)]}
    return [studio.row(table, entity, values[0], first, until=second),
            studio.row(table, entity, values[1], second, until=end)]


def histories(scene: Scene) -> None:
    """Pairs and runs of events at telling distances."""
    studio = scene.studio
    for table in studio.events():
        lengths = lengths_of(studio.view, table)
        if not any(source.table == table and source.late_by for source in studio.view.sources):
            continue
        step = max(studio.step(table), SECOND) if studio.step(table) >= SECOND else studio.step(table)
        for exemplar in _relevant(scene, table):
            for length in lengths or [HOUR]:
                for gap in (length, length - step, length + step, length / 2, timedelta(0)):
                    scene.case(exemplar, table, lambda entity, t=table, e=exemplar, g=gap: [  # type: ignore[misc]
                        studio.row(t, entity, e.values[t.name], scene.cutoff - SOON - i * g) for i in range(4)])
            scene.case(exemplar, table, lambda entity, t=table, e=exemplar: [  # type: ignore[misc]
                studio.row(t, entity, _other(scene, t, e, i), scene.cutoff + hours * HOUR)
                for i, hours in enumerate((-60, -30, -3, -1, 0, 2))])
            if table.available_time is not None:
                scene.case(exemplar, table, lambda entity, t=table, e=exemplar: [  # type: ignore[misc]
                    studio.row(t, entity, _other(scene, t, e, i), scene.cutoff - hours * HOUR,
                               available=scene.cutoff + HOUR if i == 1 else None)
                    for i, hours in enumerate((60, 30, 3, 1))])


def _other(scene: Scene, table: Table, exemplar: Exemplar, number: int) -> dict[str, object]:
    """The exemplar's values, with another of each numeric palette."""
    values = dict(exemplar.values[table.name])
    for column in scene.studio.free(table):
        palette = scene.studio.palettes[table.name, column.name]
        if palette and column.type.parsed.is_numeric:
            values[column.name] = palette[number % len(palette)]
    return values


def crowd(scene: Scene) -> None:
    """Hundreds of random events of a few entities, before and after the cut-off."""
    studio, entities = scene.studio, 6
    for name, table in studio.view.tables.items():
        if table not in studio.events():
            for number in range(entities - 1):
                scene.rows[name] += _random_states(scene, table, Entity(number))
    links = sorted(set(studio.keys.links.values()))
    for table in studio.events():
        reach = max((window.timedelta or timedelta(days=120) for window in windows_of(studio.view, table)), default=30 * DAY)
        for _ in range(CROWD):
            entity = Entity(0, {link: studio.random.randrange(entities) for link in links})
            ago = _random_distance(scene, reach)
            late = studio.random.choice([timedelta(0), timedelta(0), HOUR, 3 * DAY])
            at = scene.cutoff - ago
            source = studio.random.choice([dict(studio.wild(table)), *(each.values[table.name] for each in scene.exemplars)])
            scene.rows[table.name].append(studio.row(table, entity, source, at, available=at + late))


def _random_distance(scene: Scene, reach: timedelta) -> timedelta:
    """How long before the cut-off; whole days and hours are as frequent as anything else."""
    randomness = scene.studio.random
    scale = randomness.choice([DAY, 3 * DAY, reach, reach * 1.3])
    ago = randomness.random() * scale - 0.02 * scale
    return randomness.choice([ago, ago, ago // DAY * DAY, ago // HOUR * HOUR])


def _random_states(scene: Scene, table: Table, entity: Entity) -> list[Row]:
    studio = scene.studio
    if table == studio.spine:
        links = sorted(set(studio.keys.links.values()))
        pairs = [Entity(entity.number, {link: studio.random.randrange(7) for link in links}) for _ in range(5)]
        early = studio.view.cutoff == "spine"
        return [studio.row(table, pair, studio.wild(table), scene.cutoff - (i * DAY if early else 0 * DAY))
                for i, pair in enumerate(pairs)]
    if table.kind == "dimension":
        return [studio.row(table, entity, studio.wild(table), scene.cutoff - LONG_AGO)]
    begins = [scene.cutoff - days * DAY for days in (90, 30, 10, 2)]
    return [studio.row(table, entity, studio.wild(table), begin, until=end)
            for begin, end in zip(begins, [*begins[1:], None], strict=True)]


def midnights(scene: Scene) -> None:
    """Events at midnights of the zone and of UTC, and one step before."""
    studio = scene.studio
    today = day_of(scene.cutoff, studio.zone)
    for table in studio.events():
        for days in (0, 1, 2, 7, 30):
            day = today - days * DAY
            utc = datetime(day.year, day.month, day.day, tzinfo=UTC)
            for at in (midnight(day, studio.zone), midnight(day, studio.zone) - studio.step(table), utc, utc - SECOND):
                exemplar = scene.exemplars[scene.count % len(scene.exemplars)]
                scene.case(exemplar, table, lambda entity, t=table, e=exemplar, a=at: [  # type: ignore[misc]
                    studio.row(t, entity, e.values[t.name], a)])


def empty(scene: Scene) -> None:
    """No rows, but for a spine with two."""
    spine = scene.studio.spine
    if spine is not None and spine not in scene.studio.events():
        for _ in range(2):
            scene.rows[spine.name].append(
                scene.studio.row(spine, scene.entity(), scene.exemplars[0].values[spine.name], scene.cutoff))

