"""A scenario in the making: rows of one entity after the other, each with a note on what is peculiar about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from palmette.features.frames.exemplars import Exemplar
from palmette.features.frames.studio import Entity, Row, Studio
from palmette.features.spec.dfr import Table

Rows = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Part:
    """The rows of one entity."""

    theme: str
    """What it is about, in snake case, e.g. `redemptions_at_the_edges`."""
    note: str
    """What is peculiar about it, as a phrase, e.g. `redemptions exactly at the cut-off`."""
    rows: Rows


@dataclass
class Scene:
    """Parts that do not touch each other, at one cut-off."""

    studio: Studio
    exemplars: list[Exemplar]
    cutoff: datetime
    parts: list[Part] = field(default_factory=list)
    count: int = 0

    def entity(self) -> Entity:
        """One that no other part has."""
        self.count += 1
        return Entity(self.count - 1)

    def add(self, theme: str, note: str, rows: Rows) -> None:
        self.parts.append(Part(theme, note, rows))

    def case(
        self, exemplar: Exemplar, table: Table, entity: Entity, rows: Sequence[Row], about: tuple[str, str]
    ) -> None:
        """The exemplar's rows for the entity, but in `table` the given ones; `about` is theme and note."""
        studio, spine = self.studio, self.studio.spine
        given = {name: list(each) for name, each in exemplar.rows(studio, entity, self.cutoff).items()}
        given[table.name] = list(rows)
        if table == spine and table in studio.events():
            given[table.name].append(studio.row(table, entity, exemplar.values[table.name], self.cutoff))
        self.add(*about, given)

    def rows(self) -> dict[str, list[Row]]:
        """The rows of all parts, by table."""
        found: dict[str, list[Row]] = defaultdict(list)
        for part in self.parts:
            for name, rows in part.rows.items():
                found[name] += rows
        return found
