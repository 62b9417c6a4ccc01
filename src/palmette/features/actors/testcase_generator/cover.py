"""Chooses the fewest parts of the adversarial scenes that tell the view from everything else it could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product

from palmette.features.actors.testcase_generator.deviations import Deviant
from palmette.features.frame import Frame
from palmette.features.frames.keys import GRAIN, Place
from palmette.features.frames.scenarios import Staged
from palmette.features.frames.scene import Part, Rows
from palmette.features.frames.studio import Studio
from palmette.features.oracle.compare import alike
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import Shared, expected
from palmette.features.oracle.states import sort_key
from palmette.features.spec.view import AS_OF, View

MULTIPLICITY = 2
"""How many parts must tell a deviation apart, where there are so many."""
SUSPECTED = 4
"""The same for a deviation that a script got away with."""
FEATURE_VALUES = ("value of ", "default of ")
"""How the entries of `Candidate.tells` begin that are about what values features take."""


@dataclass(frozen=True)
class Candidate:
    """A part with what it is good for."""

    part: Part
    cutoff: datetime
    tells: frozenset[str]
    """Deviations that it tells apart, and values that features take (`value of f`, `default of f`)."""

    @property
    def size(self) -> int:
        return sum(len(rows) for rows in self.part.rows.values())


Key = tuple[object, ...]
"""Of a row: its grain, then its cut-off."""


def key_of(view: View, row: Mapping[str, object]) -> Key:
    return sort_key([row[name] for name in (*view.grain, AS_OF)])


def judged(studio: Studio, staged: Iterable[Staged], others: Sequence[Deviant]) -> list[Candidate]:
    """All parts of the scenes, with the deviations that they tell apart."""
    return [candidate for each in staged for candidate in _scene(studio, each, others)]


def _scene(studio: Studio, staged: Staged, others: Sequence[Deviant]) -> list[Candidate]:
    view, scene = studio.view, staged.scene
    scenario = staged.scenario()
    try:
        right = expected(view, scenario.frames, scenario.as_of)
    except (NotCovered, WouldFail):
        return []
    names = [feature.name for feature in view.features]
    chancy = {key[:-1] for other in right.nudged() for key in different(view, right, other, names)}
    tells = feature_values(view, right)
    shared = Shared(scenario.frames)
    for other in others:
        wrong = other.output(scenario.frames, scenario.as_of, right, shared)
        if wrong is not None:
            for key in different(view, right, wrong, other.features):
                tells.setdefault(key, set()).add(other.what)
    found = []
    for part in scene.parts:
        own = _entities(studio, part)
        if own & chancy:
            continue  # the order of adding doubles decides what is right
        told = frozenset[str]().union(*(what for key, what in tells.items() if key[:-1] in own))
        found.append(Candidate(part, scene.cutoff, told))
    return found


def feature_values(view: View, output: Frame) -> dict[Key, set[str]]:
    """By key of a row: which features have a value there, and which are at their default."""
    found: dict[Key, set[str]] = {}
    for row in output.rows:
        names = found.setdefault(key_of(view, row), set())
        for feature in view.features:
            if not feature.internal and feature.name in row:
                plain = row[feature.name] in (None, feature.default)
                names.add(f"{'default' if plain else 'value'} of {feature.name}")
    return found


def different(view: View, right: Frame, wrong: Frame, names: Sequence[str]) -> set[Key]:
    """Keys of rows that are not the same in both, as far as these features go."""
    mine, theirs = _by_key(view, right), _by_key(view, wrong)
    compared = [name for name in names if name in right.schema and name in wrong.schema]
    return {
        key
        for key in mine.keys() | theirs.keys()
        if not _same_rows(right, mine.get(key, []), theirs.get(key, []), compared)
    }


def _by_key(view: View, frame: Frame) -> dict[Key, list[Mapping[str, object]]]:
    found: dict[Key, list[Mapping[str, object]]] = {}
    for row in frame.rows:
        found.setdefault(key_of(view, row), []).append(row)
    return found


def _same_rows(
    frame: Frame,
    one: Sequence[Mapping[str, object]],
    other: Sequence[Mapping[str, object]],
    names: Sequence[str],
) -> bool:
    return len(one) == len(other) and all(
        alike(frame.schema[name], mine[name], theirs[name])
        for mine, theirs in zip(one, other, strict=True)
        for name in names
    )


def _entities(studio: Studio, part: Part) -> set[Key]:
    """The grain of every row of the part; where no table has all keys, as one comes by a join, of its rows together."""
    found = set()
    values: dict[str, dict[object, None]] = {key: {} for key in studio.view.grain}
    for name, rows in part.rows.items():
        columns = [
            next(
                (
                    column.name
                    for column in studio.view.tables[name].columns
                    if studio.keys.link(studio.view.tables[name], column.name) == studio.keys.links[Place(GRAIN, key)]
                ),
                None,
            )
            for key in studio.view.grain
        ]
        if None not in columns:
            found |= {sort_key([row[column] for column in columns if column]) for row in rows}
        for key, column in zip(studio.view.grain, columns, strict=True):
            values[key].update(dict.fromkeys(row[column] for row in rows if column))
    return found or {sort_key(each) for each in product(*values.values())}


def outcome(studio: Studio, rows: Rows, cutoff: datetime) -> Frame | None:
    view = studio.view
    try:
        return expected(view, studio.frames(rows, cutoff), None if view.cutoff == "spine" else cutoff)
    except (NotCovered, WouldFail):
        return None


def cover(candidates: Sequence[Candidate], survivors: Iterable[str] = ()) -> list[Candidate]:
    """The fewest candidates that together tell everything that any of them tells; `survivors` several times over.

    Each is left with what it was chosen for.
    """
    weak = tuple(survivors)
    everything = frozenset[str]().union(*(candidate.tells for candidate in candidates))
    wanted = Counter({what: SUSPECTED if any(name in what for name in weak) else MULTIPLICITY for what in everything})
    chosen: list[Candidate] = []
    left = list(candidates)
    while left and +wanted:
        best = max(
            left,
            key=lambda candidate: (sum(1 for what in candidate.tells if wanted[what] > 0), -candidate.size),
        )
        purpose = frozenset(what for what in best.tells if wanted[what] > 0)
        if not purpose:
            break
        left.remove(best)
        chosen.append(replace(best, tells=purpose))
        wanted.subtract(purpose)
    return chosen
