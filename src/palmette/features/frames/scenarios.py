"""The scenarios of a view: tables that put every boundary, absence and tie to the test, each on its own entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from palmette.features.frame import Frame
from palmette.features.frames.calendar import CutOffs, cut_offs
from palmette.features.frames.exemplars import Exemplar, find_exemplars
from palmette.features.frames.studio import Entity, Row, Studio
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Expression, GapStep, JoinStep, Lookup, SessionStep
from palmette.features.spec.values import Window
from palmette.features.spec.view import View


@dataclass(frozen=True)
class Scenario:
    """Tables and a cut-off on which a view can be computed."""

    name: str
    why: str
    """What it puts to the test, as one sentence."""
    frames: Mapping[str, Frame]
    as_of: datetime | None
    """None when the spine carries the cut-offs."""


def scenarios(view: View, seed: int = 0, count: int = 12) -> list[Scenario]:
    """At most `count` scenarios, the most telling first; the same for the same view and seed.

    All values are legal for the registry: types, nulls, keys that are declared unique, closed sets, lengths, retention,
    and partition columns that agree with the times they are of. None makes Spark fail on a correct script.
    """
    return list(_scenarios(_Same(view), seed))[:count]


class _Same:
    """A view, equal only to itself, so that its scenarios can be kept."""

    def __init__(self, view: View) -> None:
        self.view = view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.view is other.view

    def __hash__(self) -> int:
        return id(self.view)


@lru_cache(maxsize=4)
def _scenarios(same: _Same, seed: int) -> tuple[Scenario, ...]:
    view = same.view
    studio = Studio(view, seed)
    cutoffs = cut_offs(studio.zone, midnights=view.cutoff == "partition")
    exemplars = find_exemplars(studio, cutoffs.plain)
    found = []
    for scene, cutoff, name, why in _plan(studio, exemplars, cutoffs):
        frames = studio.frames(scene.rows, cutoff)
        as_of = None if view.cutoff == "spine" else cutoff
        if _runs(view, frames, as_of):
            found.append(Scenario(name, why, frames, as_of))
    return tuple(found)


def _runs(view: View, frames: Mapping[str, Frame], as_of: datetime | None) -> bool:
    try:
        expected(view, frames, as_of)
    except WouldFail:
        return False
    except NotCovered:
        return True
    return True


@dataclass
class Scene:
    """Rows in the making; every case gets an entity of its own."""

    studio: Studio
    exemplars: list[Exemplar]
    cutoff: datetime
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0

    def entity(self) -> Entity:
        self.count += 1
        return Entity(self.count - 1)

    def add(self, rows: Mapping[str, list[Row]]) -> None:
        for name, each in rows.items():
            self.rows[name] += each

    def case(self, exemplar: Exemplar, table: Table, make: Callable[[Entity], list[Row]]) -> None:
        """A new entity with the exemplar's rows, but in `table` those that `make` gives."""
        entity = self.entity()
        without = [table.name] if table != self.studio.spine or table in self.studio.events() else []
        self.add(exemplar.rows(self.studio, entity, self.cutoff, without=without))
        self.rows[table.name] += make(entity)
        spine = self.studio.spine
        if spine is not None and spine == table and without:
            self.rows[spine.name].append(
                self.studio.row(spine, entity, exemplar.values[spine.name], self.cutoff))


Plan = Iterator[tuple[Scene, datetime, str, str]]


def _plan(studio: Studio, exemplars: list[Exemplar], cutoffs: CutOffs) -> Plan:
    from palmette.features.frames import scenes

    makers: list[tuple[Callable[[Scene], None], datetime, str, str]] = [
        (scenes.boundaries, cutoffs.plain, "boundaries",
         "Events at, just before and just after the cut-off and the start of every window; rows that are known late."),
        (scenes.values, cutoffs.plain, "values",
         "Every column at, above and below the values that conditions name, zero, negative and large."),
        (scenes.absences, cutoffs.plain, "absences",
         "Nulls in every column that allows them, entities without rows, keys that match nothing."),
        (scenes.repeats, cutoffs.plain, "repeats",
         "Repeated values, equal times, repeated rows where keys are not enforced, several states and sessions of one key."),
        (scenes.states, cutoffs.plain, "states", "States that begin or end exactly at the cut-off or at an event."),
        (scenes.histories, cutoffs.plain, "histories", "Events of one entity exactly a timeout apart, and across the cut-off."),
        (scenes.boundaries, cutoffs.spring, "spring", "Windows that span the day on which clocks go forward."),
        (scenes.crowd, cutoffs.autumn, "autumn", "Many events around the day on which clocks go back."),
        (scenes.crowd, cutoffs.leap, "leap_day", "Many events around 29 February."),
        (scenes.crowd, cutoffs.plain, "crowd", "Several hundred random events of few entities."),
        (scenes.midnights, cutoffs.year, "new_year", "Events at midnights, of the zone and of UTC, around New Year."),
        (scenes.empty, cutoffs.plain, "empty", "Tables without rows."),
    ]
    for make, cutoff, name, why in makers:
        scene = Scene(studio, exemplars, cutoff)
        make(scene)
        if any(scene.rows.values()) or name == "empty":
            yield scene, cutoff, name, why


def windows_of(view: View, table: Table) -> list[Window]:
    """The windows that features take from a table, each once."""
    found = []
    for feature in view.features:
        computation = feature.computation
        if isinstance(computation, Aggregate | Expression) and view.source(computation.source).table == table:
            found.append(computation.window)
    return list(dict.fromkeys(found))


def state_moments(view: View, table: Table) -> set[str]:
    """When states of the table are looked up: at `event`, at `cutoff`."""
    moments = {"cutoff" for feature in view.features
               if isinstance(feature.computation, Lookup) and feature.computation.table == table.name}
    moments |= {"cutoff" for source in view.sources if source.table == table}
    return moments | {step.join.at for source in view.sources for step in (*source.early, *source.late)
                      if isinstance(step, JoinStep) and step.join.table == table.name}


def lengths_of(view: View, table: Table) -> list[timedelta]:
    """Lengths of time between events that the view's sessions and gaps ask about."""
    found: list[timedelta] = []
    for source in view.sources:
        for step in source.late:
            if isinstance(step, SessionStep) and source.table == table:
                found.append(step.session.timeout.timedelta)
            elif isinstance(step, GapStep) and source.table == table:
                found.append(timedelta(**{step.gap.unit: 1}))
    return list(dict.fromkeys(found))
