"""The scenarios of a view: tables that test every boundary, absence and tie."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from palmette.features.frame import Frame
from palmette.features.frames.bulk_rows import bulk_rows
from palmette.features.frames.calendar import CutOffs, cut_offs, years_around
from palmette.features.frames.fixtures import Fixture, ScenarioBuilder, find_fixtures, would_fail
from palmette.features.frames.histories import histories, states, thresholds
from palmette.features.frames.row_factory import RowFactory
from palmette.features.frames.test_scenarios import absences, boundaries, empty, midnights, repeats, values
from palmette.features.spec.view import View


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


def scenarios(view: View, seed: int = 0, count: int = 13) -> list[Scenario]:
    """At most `count` scenarios, the most informative first; deterministic for a view and seed.

    All values are valid for the registry: types, nulls, unique keys, closed sets, lengths, retention, and partition
    columns that match their times. No scenario makes Spark fail on a correct script.
    """
    return list(_scenarios(view, seed))[:count]


@lru_cache(maxsize=8)
def _scenarios(view: View, seed: int) -> tuple[Scenario, ...]:
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
