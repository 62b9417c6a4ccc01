"""The scenarios of a view: tables that put every boundary, absence and tie to the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from palmette.features.frame import Frame
from palmette.features.frames import scenes
from palmette.features.frames.calendar import CutOffs, cut_offs, years_around
from palmette.features.frames.crowd import crowd
from palmette.features.frames.exemplars import Exemplar, find_exemplars
from palmette.features.frames.histories import histories
from palmette.features.frames.scene import Scene
from palmette.features.frames.states import states
from palmette.features.frames.studio import Studio
from palmette.features.frames.thresholds import thresholds
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected
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


class Staged(NamedTuple):
    """A scene with its name and purpose."""

    name: str
    why: str
    scene: Scene

    def scenario(self) -> Scenario:
        view, cutoff = self.scene.studio.view, self.scene.cutoff
        frames = self.scene.studio.frames(self.scene.rows(), cutoff)
        return Scenario(self.name, self.why, frames, None if view.cutoff == "spine" else cutoff)


def scenarios(view: View, seed: int = 0, count: int = 13) -> list[Scenario]:
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
    found = [staged.scenario() for staged in stage(same.view, seed)]
    return tuple(scenario for scenario in found if _runs(same.view, scenario))


def _runs(view: View, scenario: Scenario) -> bool:
    try:
        expected(view, scenario.frames, scenario.as_of)
    except WouldFail:
        return False
    except NotCovered:
        return True
    return True


_SCENES: tuple[tuple[str, Callable[[Scene], None], str, str], ...] = (
    (
        "boundaries",
        scenes.boundaries,
        "plain",
        "Events at, just before and just after the cut-off and the start of every window; rows that are known late.",
    ),
    (
        "values",
        scenes.values,
        "plain",
        "Every column at, above and below the values that conditions name, zero, negative and large.",
    ),
    (
        "absences",
        scenes.absences,
        "plain",
        "Nulls in every column that allows them, entities without rows, keys that match nothing.",
    ),
    (
        "repeats",
        scenes.repeats,
        "plain",
        "Repeated values, equal times, equal frequencies, repeated rows where keys are not enforced.",
    ),
    ("states", states, "plain", "States that begin or end exactly at the cut-off or at an event."),
    (
        "histories",
        histories,
        "plain",
        "Events of one entity exactly a timeout apart, across the cut-off, and known late.",
    ),
    (
        "thresholds",
        thresholds,
        "plain",
        "As many events, and events as long ago, as conditions on other features name.",
    ),
    ("spring", scenes.boundaries, "spring", "Windows that span the day on which clocks go forward."),
    ("autumn", crowd, "autumn", "Many events around the day on which clocks go back."),
    (
        "leap_day",
        crowd,
        "leap",
        "Many events around 29 February, late at night: further east it is March.",
    ),
    ("crowd", crowd, "plain", "Several hundred random events of few entities."),
    (
        "new_year",
        scenes.midnights,
        "year",
        "Events at midnights, of the zone and of UTC, early on New Year's Day: further west it is the old year.",
    ),
    ("empty", scenes.empty, "plain", "Tables without rows."),
)


def _set(view: View, seed: int) -> tuple[Studio, list[Exemplar], CutOffs]:
    """Studio, exemplars and cut-offs in the year in which most features have a value: conditions may name dates."""
    found = []
    for year in years_around(Studio(view, seed).clues.years):
        studio = Studio(view, seed)
        cutoffs = cut_offs(studio.zone, midnights=view.cutoff == "partition", year=year)
        found.append((studio, find_exemplars(studio, cutoffs.plain), cutoffs))
    return max(found, key=lambda each: len(frozenset[str]().union(*(one.features for one in each[1]))))


def stage(view: View, seed: int = 0) -> list[Staged]:
    """The scenes of a view, each entity with its own rows; scenes that do not apply are left out."""
    studio, exemplars, cutoffs = _set(view, seed)
    staged = []
    for name, fill, when, why in _SCENES:
        scene = Scene(studio, exemplars, getattr(cutoffs, when))
        fill(scene)
        if scene.parts or name == "empty":
            staged.append(Staged(name, why, scene))
    return staged
