"""Finds columns that hold the same keys, so that rows generated for one entity match each other."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from palmette.features.spec import Aggregate, Expression, Lookup, RegisteredColumn, Table, View, ViewSource
from palmette.features.spec.fsc_steps import pairs, reads_of


class ColumnRef(NamedTuple):
    table: str
    column: str


GRAIN = ""
"""The table name of columns that stand for keys of the grain."""


def links_of(view: View) -> dict[ColumnRef, ColumnRef]:
    """Maps every linked column to the representative of its link; keys of the grain are columns of the table ''."""
    links = list(_links(view))
    groups = {place: {place} for link in links for place in link}
    for one, other in links:
        joined = groups[one] | groups[other]
        groups |= dict.fromkeys(joined, joined)
    return {place: min(group) for place, group in groups.items()}


def _links(view: View) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    for key in view.grain:
        yield ColumnRef(GRAIN, key), ColumnRef(GRAIN, key)
        if view.spine is not None:
            yield ColumnRef(GRAIN, key), ColumnRef(view.spine.table, key)
    for source in view.sources:
        yield from _source_links(view, source)
    for feature in view.features:
        if isinstance(feature.computation, Lookup):
            table = view.tables[feature.computation.table]
            for here, there in pairs(feature.computation.on or table.keys).items():
                yield ColumnRef(GRAIN, here), ColumnRef(table.name, there)


def _source_links(view: View, source: ViewSource) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    origins = {name: ColumnRef(source.table.name, name) for name in source.table.column_types}
    for step in source.steps:
        for read in reads_of([step]):
            for here, there in pairs(read.on).items():
                if here in origins:
                    yield origins[here], ColumnRef(read.table, there)
        if step.join:
            for new, there in pairs(step.join.columns).items():
                origins[new] = ColumnRef(step.join.table, there)
    for feature in view.features:
        computation = feature.computation
        if isinstance(computation, Aggregate | Expression) and computation.source == source.name:
            for key in computation.by or view.grain:
                if key in origins:
                    yield ColumnRef(GRAIN, key), origins[key]


class KeyFactory:
    """Generates key values from entity numbers."""

    def __init__(self, view: View) -> None:
        self.links = links_of(view)
        self.texts: dict[ColumnRef, bool] = {}
        """By link: whether all its columns are text, so that keys need not be numeric."""
        self.named: dict[ColumnRef, tuple[str | int | bool, ...]] = {}
        """By link: the closed set of values of its columns, if any."""
        for place, link in self.links.items():
            if place.table:
                column = view.tables[place.table].column(place.column)
                is_text = column is not None and column.type.parsed.name == "string"
                self.texts[link] = self.texts.get(link, True) and is_text
                if column is not None and column.values:
                    self.named[link] = column.values

    def link(self, table: Table, column: str) -> ColumnRef | None:
        return self.links.get(ColumnRef(table.name, column))

    def links_of(self, table: Table) -> frozenset[ColumnRef]:
        """The links of a table's columns."""
        return frozenset(link for column in table.columns if (link := self.link(table, column.name)) is not None)

    def renumbered(
        self, rows: Mapping[str, Sequence[Mapping[str, Any]]], tables: Iterable[Table]
    ) -> dict[str, list[dict[str, Any]]]:
        """The rows with the first keys, in the same order; the same for all links of an entity.

        Keys of closed sets, and those without a number, stay.
        """
        found = {name: [dict(row) for row in each] for name, each in rows.items()}
        cells: dict[ColumnRef, list[tuple[dict[str, Any], RegisteredColumn]]] = defaultdict(list)
        for table in tables:
            for column in table.columns:
                place = ColumnRef(table.name, column.name)
                if column.name in table.keys or place in self.links:
                    known = (row for row in found.get(table.name, ()) if row[column.name] is not None)
                    cells[self.links.get(place, place)] += [(row, column) for row in known]
        numbers = {link: {_number(row[column.name]) for row, column in each} for link, each in cells.items()}
        plain = [link for link in cells if link not in self.named and -1 not in numbers[link]]
        shared = set[int]().union(*(numbers[link] for link in plain if link in self.links))
        for link in plain:
            order = sorted(shared if link in self.links else numbers[link])
            for row, column in cells[link]:
                row[column.name] = self.value(link, column, order.index(_number(row[column.name])))
        return found

    def value(self, link: ColumnRef, column: RegisteredColumn, number: int) -> Any:
        """The key with index `number` (from 0) as a value of the column.

        The first keys come from the closed set, if any. Further keys are outside of it, so that entities stay distinct.
        """
        named = self.named.get(link, ())
        if number < len(named):
            return named[number]
        kind = column.type.parsed
        if kind.is_integer and named:
            return max(value for value in named if isinstance(value, int)) + number
        match kind.name:
            case "string":
                return f"{link.column[:1]}{number + 1}" if self.texts.get(link) else str(number + 1)
            case "boolean":
                return number % 2 == 0
            case "date":
                return date(2020, 1, 1) + timedelta(days=number)
            case "timestamp":
                return datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=number)
            case "decimal":
                return Decimal(number + 1).quantize(Decimal(1).scaleb(-kind.scale))
            case "float" | "double":
                return float(number + 1)
            case _:
                return (number + 1) % 127 if kind.name == "tinyint" else number + 1


def _number(value: Any) -> int:
    """The number from which `KeyFactory.value` made a key; -1 if it does not show."""
    digits = re.fullmatch(r"\D?(\d+)(\.0+)?", str(value))
    return int(digits[1]) - 1 if digits else -1
