"""Hundreds of random events for a few entities, before and after the cut-off."""

from datetime import timedelta

from palmette.features.frames.fixtures import ScenarioBuilder
from palmette.features.frames.row_factory import LONG_AGO, EntityNumbers, Row
from palmette.features.frames.test_scenarios import DAY, HOUR
from palmette.features.spec.dfr import Table

EVENTS = 250
ENTITIES = 6


def bulk_rows(builder: ScenarioBuilder) -> None:
    """Adds one part in which all tables share a few entities, so that their rows match at random."""
    factory = builder.factory
    rows: dict[str, list[Row]] = {name: [] for name in factory.view.tables}
    for name, table in factory.view.tables.items():
        if table not in factory.events():
            for number in range(ENTITIES - 1):
                rows[name] += _states(builder, table, EntityNumbers(number))
    links = sorted(set(factory.keys.links.values()))
    for table in factory.events():
        reach = max((window.timedelta or 120 * DAY for window in factory.windows_of(table)), default=30 * DAY)
        for _ in range(EVENTS):
            entity = EntityNumbers(0, {link: factory.random.randrange(ENTITIES) for link in links})
            late = factory.random.choice([timedelta(0), timedelta(0), HOUR, 3 * DAY])
            at = builder.cutoff - _distance(builder, reach)
            values = factory.random.choice(
                [factory.wild(table), *(each.values[table.name] for each in builder.fixtures)]
            )
            rows[table.name].append(factory.row(table, entity, values, at, available=at + late))
    builder.add("crowd", "random events", rows)


def _distance(builder: ScenarioBuilder, reach: timedelta) -> timedelta:
    """A random time before the cut-off; often a whole number of days or hours."""
    randomness = builder.factory.random
    scale = randomness.choice([DAY, 3 * DAY, reach, reach * 1.3])
    ago = randomness.random() * scale - 0.02 * scale
    return randomness.choice([ago, ago, ago // DAY * DAY, ago // HOUR * HOUR])


def _states(builder: ScenarioBuilder, table: Table, entity: EntityNumbers) -> list[Row]:
    factory = builder.factory
    if table == factory.spine:
        links = sorted(set(factory.keys.links.values()))
        pairs = [
            EntityNumbers(entity.number, {link: factory.random.randrange(ENTITIES + 1) for link in links})
            for _ in range(5)
        ]
        apart = DAY if factory.view.cutoff == "spine" else timedelta(0)
        return [
            factory.row(table, pair, factory.wild(table), builder.cutoff - i * apart) for i, pair in enumerate(pairs)
        ]
    if table.kind == "dimension":
        return [factory.row(table, entity, factory.wild(table), builder.cutoff - LONG_AGO)]
    begins = [builder.cutoff - days * DAY for days in (90, 30, 10, 2)]
    return [
        factory.row(table, entity, factory.wild(table), begin, until=end)
        for begin, end in zip(begins, [*begins[1:], None], strict=True)
    ]
