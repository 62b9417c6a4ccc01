"""The scenarios of a view: tables that test every boundary, absence and tie."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from palmette.features.frame import Frame
from palmette.features.frames.calendar import CutOffs, cut_offs, years_around
from palmette.features.frames.fixtures import Fixture, ScenarioBuilder, find_fixtures, would_fail
from palmette.features.frames.histories import histories, states
from palmette.features.frames.row_factory import LONG_AGO, EntityNumbers, Row, RowFactory
from palmette.features.frames.test_scenarios import DAY, HOUR, absences, boundaries, empty, midnights, repeats, values
from palmette.features.frames.thresholds import thresholds
from palmette.features.spec import Table, View, Window

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
        lengths = (120 * DAY if window == Window.ALL else window.timedelta for window in factory.windows_of(table))
        reach = max(lengths, default=30 * DAY)
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


@dataclass(frozen=True)
class Scenario:
    """Tables and a cut-off for computing a view."""

    name: str
    why: str
    """What the scenario tests, in one sentence."""
    frames: Mapping[str, Frame]
    as_of: datetime | None
    """None if the spine contains the cut-offs."""


class NamedScenario(NamedTuple):
    """A scenario under construction, with its name and purpose."""

    name: str
    why: str
    builder: ScenarioBuilder

    def scenario(self) -> Scenario:
        view, cutoff = self.builder.factory.view, self.builder.cutoff
        frames = self.builder.factory.frames(self.builder.rows(), cutoff)
        return Scenario(self.name, self.why, frames, None if view.cutoff == "spine" else cutoff)


@lru_cache(maxsize=8)
def scenarios(view: View, seed: int = 0) -> tuple[Scenario, ...]:
    """The scenarios of a view; deterministic for a view and seed.

    All values are valid for the registry: types, nulls, unique keys, closed sets, lengths, retention, and partition
    columns that match their times. No scenario makes Spark fail on a correct script.
    """
    found = [each.scenario() for each in named_scenarios(view, seed)]
    return tuple(scenario for scenario in found if not would_fail(view, scenario.frames, scenario.as_of))


_DEFINITIONS: tuple[tuple[str, Callable[[ScenarioBuilder], None], str, str], ...] = (
    ("boundaries", boundaries, "plain", "Events at the cut-off and at every window's start, beside them, and late."),
    ("values", values, "plain", "Every column at, above and below the values that conditions name, and at extremes."),
    ("absences", absences, "plain", "Nulls in every column, entities without rows, keys that match nothing."),
    ("repeats", repeats, "plain", "Repeated values and rows, equal times, equal frequencies."),
    ("states", states, "plain", "States that begin or end exactly at the cut-off or at an event."),
    ("histories", histories, "plain", "Events exactly a timeout apart, across the cut-off, and known late."),
    ("thresholds", thresholds, "plain", "As many events, and as old ones, as conditions on other features name."),
    ("spring", boundaries, "spring", "Windows that span the day on which clocks go forward."),
    ("autumn", bulk_rows, "autumn", "Many events around the day on which clocks go back."),
    ("leap_day", bulk_rows, "leap", "Many events around 29 February, late at night: further east it is March."),
    ("crowd", bulk_rows, "plain", "Several hundred random events of few entities."),
    ("new_year", midnights, "year", "Events at midnights, early on New Year's Day: further west it is the old year."),
    ("empty", empty, "plain", "Tables without rows."),
)
"""Name, function that adds the rows, cut-off, and purpose."""


def _prepare(view: View, seed: int) -> tuple[RowFactory, list[Fixture], CutOffs]:
    """Row factory, fixtures and cut-offs for the year in which most features have a value."""
    found = []
    for year in years_around(RowFactory(view, seed).predicate_values.years):
        factory = RowFactory(view, seed)
        cutoffs = cut_offs(factory.zone, midnights=view.cutoff == "partition", year=year)
        found.append((factory, find_fixtures(factory, cutoffs.plain), cutoffs))
    return max(found, key=lambda each: len(frozenset[str]().union(*(one.features for one in each[1]))))


def named_scenarios(view: View, seed: int = 0) -> list[NamedScenario]:
    """Builds the scenarios of a view, each with separate entities; skips scenarios that do not apply."""
    factory, fixtures, cutoffs = _prepare(view, seed)
    builders = []
    for name, fill, when, why in _DEFINITIONS:
        builder = ScenarioBuilder(factory, fixtures, getattr(cutoffs, when))
        fill(builder)
        if builder.parts or name == "empty":
            builders.append(NamedScenario(name, why, builder))
    return builders
