"""What scenarios put to the test, one entity a case: edges of windows, values, absences, repeats, states, histories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from palmette.features.frames.asked import columns_joined, windows_of
from palmette.features.frames.exemplars import LONG_AGO, SOON, Exemplar, usual_row
from palmette.features.frames.keys import GRAIN, Place
from palmette.features.frames.scene import Rows, Scene
from palmette.features.frames.studio import Entity, Row, Values
from palmette.features.oracle.clock import day_of, midnight, window_start
from palmette.features.spec.dfr import Column, Table

DAY, HOUR, SECOND, MICROSECOND = (
    timedelta(days=1),
    timedelta(hours=1),
    timedelta(seconds=1),
    timedelta(microseconds=1),
)
STRANGERS = 1000
"""From here on, numbers of entities that have no rows but those which name them."""


class Instant(NamedTuple):
    """When an event happens and is known, and how to say so."""

    note: str
    at: datetime
    available: datetime | None = None


class Companion(NamedTuple):
    """An event within all windows, and how to say so."""

    note: str
    values: Values
    others: tuple[Place, ...] = ()
    """Links by which it is of another entity, which has no rows in other tables."""


def boundaries(scene: Scene) -> None:
    """An event at every telling instant: alone, as the second of two, and beside another that brings the row."""
    studio = scene.studio
    for table in studio.events():
        backwards, bare = _looks_back(scene, table), studio.view.spine is None
        for exemplar in relevant(scene, table):
            edges, late = list(_edges(scene, table)), list(_late(scene, table))
            for instant in (*edges, *late):
                theme = f"{table.name}_{'known_late' if instant.available else 'at_the_edges'}"
                _at(scene, exemplar, table, instant, (theme, f"{table.name} {instant.note}"))
            for instant in edges if backwards else ():
                note = f"the second of two {table.name} {instant.note}"
                _at(scene, exemplar, table, instant, (f"pairs_of_{table.name}_at_the_edges", note), second=True)
            for beside in _companions(scene, exemplar, table) if bare else ():
                for instant in (*edges, *late):
                    about = f"{table.name}_beside_others", f"{table.name} {instant.note}, and {beside.note}"
                    _at(scene, exemplar, table, instant, about, second=backwards, beside=beside)
    _more_cutoffs(scene)


def _at(
    scene: Scene,
    exemplar: Exemplar,
    table: Table,
    instant: Instant,
    about: tuple[str, str],
    *,
    second: bool = False,
    beside: Companion | None = None,
) -> None:
    """An event at the instant; perhaps with another an hour before, or one within all windows."""
    studio, entity, given = scene.studio, scene.entity(), exemplar.values[table.name]
    rows = [studio.row(table, entity, given, instant.at, available=instant.available)]
    if second:
        rows.insert(0, studio.row(table, entity, given, instant.at - HOUR))
    if beside is not None:
        rows.append(studio.row(table, stranger(entity, beside.others), beside.values, scene.cutoff - SOON))
    scene.case(exemplar, table, entity, rows, about)


def _companions(scene: Scene, exemplar: Exemplar, table: Table) -> Iterator[Companion]:
    """Events that bring the row of the output: one alike, one that differs, one that counts for little."""
    yield Companion("one within", exemplar.values[table.name])
    yield Companion("one within", exemplar.contrast(scene.studio, table))
    others = other_links(scene, table)
    found = f" of another {' and '.join(link.column for link in others)}" if others else ""
    if exemplar.quiet:
        yield Companion(f"one within{found} that counts for little", exemplar.quiet[table.name], others)


def other_links(scene: Scene, table: Table) -> tuple[Place, ...]:
    """By what rows of a table find those of other tables, the keys of the grain aside."""
    return tuple(sorted(link for link in scene.studio.keys.links_of(table) if link.table != GRAIN))


def stranger(entity: Entity, links: Iterable[Place], number: int = 1) -> Entity:
    """The entity with another one's keys by these links."""
    return Entity(entity.number, {link: entity.number + number * STRANGERS for link in links})


def _looks_back(scene: Scene, table: Table) -> bool:
    """Whether some source of the table has steps that look at the event before."""
    return any(source.table == table and source.late_by is not None for source in scene.studio.view.sources)


def relevant(scene: Scene, table: Table) -> list[Exemplar]:
    """Exemplars that add something for the features of a table."""
    view = scene.studio.view
    names = {
        feature.name
        for feature in view.features
        if feature.source is not None and view.source(feature.source).table == table
    }
    found: list[Exemplar] = []
    covered: set[str] = set()
    for exemplar in scene.exemplars:
        if not found or exemplar.features & names - covered:
            found.append(exemplar)
            covered |= exemplar.features & names
    return found


def _edges(scene: Scene, table: Table) -> Iterator[Instant]:
    cutoff, zone, step = scene.cutoff, scene.studio.zone, scene.studio.step(table)
    yield Instant("shortly before the cut-off", cutoff - SOON)
    yield Instant("exactly at the cut-off", cutoff)
    yield Instant("just before the cut-off", cutoff - step)
    yield Instant("just after the cut-off", cutoff + step)
    yield Instant("a day after the cut-off", cutoff + DAY)
    yield Instant("at the midnight before the cut-off", midnight(day_of(cutoff, zone), zone))
    for window in windows_of(scene.studio.view, table):
        start = window_start(cutoff, window, zone)
        if start is None:
            continue
        yield Instant(f"exactly {window} before the cut-off", start)
        yield Instant(f"just more than {window} before the cut-off", start - step)
        yield Instant(f"just less than {window} before the cut-off", start + step)
        if table.available_time is not None:
            yield Instant(f"just more than {window} before the cut-off, known after that", start - step, start + HOUR)
        yield Instant(f"at the midnight before the last {window}", midnight(day_of(start, zone), zone))
        yield Instant(f"a day before the last {window}", start - DAY)
        if window.unit == "d":
            yield Instant(f"{window.amount * 24} hours before the cut-off", cutoff - window.amount * DAY)
    yield Instant("long ago", cutoff - LONG_AGO)


def _late(scene: Scene, table: Table) -> Iterator[Instant]:
    if table.available_time is not None:
        cutoff = scene.cutoff
        yield Instant("known exactly at the cut-off", cutoff - 2 * DAY, cutoff)
        yield Instant("known just before the cut-off", cutoff - 2 * DAY, cutoff - MICROSECOND)
        yield Instant("known only after the cut-off", cutoff - 2 * DAY, cutoff + HOUR)
        yield Instant("known before they happened", cutoff - HOUR, cutoff - 3 * DAY)


def _more_cutoffs(scene: Scene) -> None:
    """Where every row of the spine has its own cut-off: entities with several."""
    studio, spine = scene.studio, scene.studio.spine
    if spine is None or studio.view.cutoff != "spine":
        return
    for exemplar in scene.exemplars:
        for later in (DAY, MICROSECOND, -DAY, 40 * DAY):
            entity = scene.entity()
            rows = {name: list(each) for name, each in exemplar.rows(studio, entity, scene.cutoff).items()}
            rows[spine.name].append(studio.row(spine, entity, exemplar.values[spine.name], scene.cutoff + later))
            scene.add("several_cut_offs", "one entity with several cut-offs", rows)


def values(scene: Scene) -> None:
    """Every value of every palette."""
    for table in scene.studio.view.tables.values():
        for column in scene.studio.free(table):
            for value in scene.studio.palettes[table.name, column.name]:
                for exemplar in relevant(scene, table)[:1]:
                    _one_value(scene, exemplar, table, column, value)


def _one_value(scene: Scene, exemplar: Exemplar, table: Table, column: Column, value: Any) -> None:
    entity = scene.entity()
    text = "another value" if column.personal else value if isinstance(value, str) else str(value)
    scene.case(
        exemplar,
        table,
        entity,
        exemplar.rows_of(scene.studio, table, entity, scene.cutoff, {column.name: value}),
        (f"values_of_{table.name}", f"{column.name} {text!r}"[:60]),
    )


def absences(scene: Scene) -> None:
    """Nulls, and entities that lack rows."""
    exemplar, studio = scene.exemplars[0], scene.studio
    for table in studio.view.tables.values():
        entity = scene.entity()
        scene.add(
            "nothing_there",
            f"no row in {table.name}",
            exemplar.rows(studio, entity, scene.cutoff, without=[table.name]),
        )
        for column in table.columns:
            if column.nullable and column.name not in table.keys:
                entity = scene.entity()
                rows = exemplar.rows_of(studio, table, entity, scene.cutoff, {})
                if column.name in (table.valid_from, table.valid_to):
                    rows = rows[-1:]  # of two states one would hold as long as the other
                nulls = [studio.dated(table, {**row, column.name: None}) for row in rows]
                scene.case(exemplar, table, entity, nulls, (f"nulls_in_{table.name}", f"null {column.name}"))
    _alone(scene)
    _strangers(scene)
    _neighbours(scene)


def _alone(scene: Scene) -> None:
    exemplar = scene.exemplars[0]
    for table in scene.studio.view.tables.values():
        row = usual_row(scene.studio, table, scene.entity(), exemplar.values[table.name], scene.cutoff)
        scene.add("nothing_there", f"a row in {table.name} alone", {table.name: [row]})


def _strangers(scene: Scene) -> None:
    """Rows in which one key belongs to somebody else."""
    exemplar, keys = scene.exemplars[0], scene.studio.keys
    for table in scene.studio.view.tables.values():
        links = {column.name: link for column in table.columns if (link := keys.link(table, column.name)) is not None}
        for name, link in links.items():
            entity = scene.entity()
            other = stranger(entity, [link])
            rows = exemplar.rows(scene.studio, entity, scene.cutoff, without=[table.name])
            rows[table.name] = [usual_row(scene.studio, table, other, exemplar.values[table.name], scene.cutoff)]
            scene.add("unmatched_keys", f"another {name} in {table.name}", rows)


def _neighbours(scene: Scene) -> None:
    """Two entities that differ in one key of several, with events in turn."""
    studio = scene.studio
    links = {key: studio.keys.links[Place(GRAIN, key)] for key in studio.view.grain}
    for key, link in links.items() if len(links) > 1 else ():
        for exemplar in scene.exemplars:
            one = scene.entity()
            other = Entity(one.number, {link: scene.entity().number})
            rows: dict[str, list[Row]] = defaultdict(list)
            for number, entity in enumerate((one, other)):
                for name, each in exemplar.rows(studio, entity, scene.cutoff).items():
                    rows[name] += each
                for table in studio.events():
                    given = exemplar.varied(studio, table, number + 1)
                    rows[table.name].append(studio.row(table, entity, given, scene.cutoff - SOON - (number + 1) * HOUR))
            scene.add("neighbours", f"two that differ in {key} alone", rows)


def repeats(scene: Scene) -> None:
    """Several events of one entity: equal values, equal frequencies, equal times, repeated rows."""
    studio = scene.studio
    for table in studio.events():
        about = f"repeated_{table.name}"
        for exemplar in relevant(scene, table):
            plain = exemplar.values[table.name]
            entity = scene.entity()
            rows = [studio.row(table, entity, plain, scene.cutoff - hours * HOUR) for hours in (2, 3, 3, 50)]
            scene.case(exemplar, table, entity, rows, (about, f"four {table.name}, two at the same time"))
            for column in studio.free(table):
                palette = studio.palettes[table.name, column.name][:4]
                for order in (palette, palette[::-1], [*palette, *palette], [*palette[:2], *palette[:3]]):
                    entity = scene.entity()
                    rows = [
                        studio.row(table, entity, {**plain, column.name: value}, scene.cutoff - (2 + i // 2) * HOUR)
                        for i, value in enumerate(order)
                    ]
                    scene.case(exemplar, table, entity, rows, (about, f"{column.name} that repeats or ties"))
            if not table.keys_enforced:
                entity = scene.entity()
                scene.case(exemplar, table, entity, _twice(scene, table, entity, plain), (about, "repeated rows"))
        _of_several(scene, table)
    spine = studio.spine
    if spine is not None and not spine.keys_enforced:
        rows = list(scene.parts[0].rows[spine.name]) if scene.parts else []
        scene.add("repeated_spine_rows", "a row of the spine twice", {spine.name: [dict(row) for row in rows]})


def _of_several(scene: Scene, table: Table) -> None:
    """Events of one entity that find different values in another table."""
    studio = scene.studio
    for name, columns in columns_joined(studio.view, table).items():
        links = studio.keys.links_of(studio.view.tables[name]).intersection(other_links(scene, table))
        for column in studio.free(studio.view.tables[name]) if links else ():
            values = studio.palettes[name, column.name][:3] if column.name in columns else []
            about = f"repeated_{table.name}", f"several with their own {column.name} in {name}"
            for exemplar in relevant(scene, table) if len(values) > 1 else ():
                for order in (values, values[::-1]):
                    changes = [{name: {column.name: value}} for value in order]
                    scene.add(*about, _found_by(scene, exemplar, table, links, changes))


def _found_by(
    scene: Scene, exemplar: Exemplar, table: Table, links: Set[Place], changes: Sequence[Mapping[str, Values]]
) -> Rows:
    """Events of one entity, each with rows of its own in the tables that it finds by the links."""
    studio, entity = scene.studio, scene.entity()
    rows = {name: list(each) for name, each in exemplar.rows(studio, entity, scene.cutoff, changes[0]).items()}
    alone = [each.name for each in studio.view.tables.values() if not studio.keys.links_of(each) & links]
    for number, changed in enumerate(changes[1:], 1):
        other = stranger(entity, links, number)
        for name, each in exemplar.rows(studio, other, scene.cutoff, changed, without=[*alone, table.name]).items():
            rows[name] += each
        at = scene.cutoff - SOON - number * max(HOUR, studio.step(table))
        rows[table.name].append(studio.row(table, other, exemplar.values[table.name], at))
    return rows


def _twice(scene: Scene, table: Table, entity: Entity, given: Mapping[str, Any]) -> list[Row]:
    row = scene.studio.row(table, entity, given, scene.cutoff - SOON)
    other = scene.studio.row(table, entity, given, scene.cutoff - 5 * HOUR)
    return [row, dict(row), {**other, **{key: row[key] for key in table.keys}}]


def midnights(scene: Scene) -> None:
    """Events at midnights of the zone and of UTC, and one step before."""
    studio = scene.studio
    today = day_of(scene.cutoff, studio.zone)
    for table in studio.events():
        for days in (0, 1, 2, 7, 30):
            day = today - days * DAY
            utc = datetime(day.year, day.month, day.day, tzinfo=UTC)
            for at in (
                midnight(day, studio.zone),
                midnight(day, studio.zone) - studio.step(table),
                utc,
                utc - SECOND,
            ):
                exemplar = scene.exemplars[scene.count % len(scene.exemplars)]
                entity = scene.entity()
                scene.case(
                    exemplar,
                    table,
                    entity,
                    [studio.row(table, entity, exemplar.values[table.name], at)],
                    ("midnights", f"{table.name} around midnight"),
                )


def empty(scene: Scene) -> None:
    """No rows, but for a spine with two."""
    spine = scene.studio.spine
    if spine is not None and spine not in scene.studio.events():
        for _ in range(2):
            row = scene.studio.row(spine, scene.entity(), scene.exemplars[0].values[spine.name], scene.cutoff)
            scene.add("nothing_there", "empty tables", {spine.name: [row]})
