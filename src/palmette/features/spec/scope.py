"""What is known while a view is being resolved: the documents, the grain, the columns with their origins."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.expressions import Checked, check
from palmette.features.spec.findings import Findings
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.oversights import oversights
from palmette.features.spec.values import SparkType

Origins = frozenset[str]
"""Columns of registry tables, as `table.column`."""

NOTHING: Origins = frozenset()


@dataclass
class Columns:
    """The columns that exist at one place, with their types and origins. Grows as steps add columns."""

    types: dict[str, SparkType]
    origins: dict[str, Origins]
    broken: set[str] = field(default_factory=set)
    """Columns whose definition has a mistake that was reported already."""
    values: dict[str, tuple[str | int | bool, ...]] = field(default_factory=dict)
    """Closed sets of values, of the columns that have one."""

    @classmethod
    def of_table(cls, table: Table) -> Columns:
        return cls(
            {column.name: column.type.parsed for column in table.columns},
            {column.name: frozenset({f"{table.name}.{column.name}"}) for column in table.columns},
            values={column.name: column.values for column in table.columns if column.values},
        )

    def put(self, name: str, kind: SparkType | None, origins: Origins) -> None:
        """Adds or replaces a column, whose values may be any; one without a type is broken."""
        self.values.pop(name, None)
        if kind is None:
            self.broken.add(name)
            return
        self.broken.discard(name)
        self.types[name] = kind
        self.origins[name] = origins

    def origins_of(self, names: Iterable[str]) -> Origins:
        return NOTHING.union(*(self.origins.get(name, NOTHING) for name in names))

    def __contains__(self, name: object) -> bool:
        return name in self.types


@dataclass(frozen=True)
class Scope:
    """The two documents, where mistakes go, and the rows that the view has."""

    spec: FeatureSpec
    registry: Registry
    findings: Findings
    grain: Mapping[str, SparkType]

    @property
    def zone(self) -> str:
        """The view's zone; UTC when there is none of that name, which is reported elsewhere."""
        try:
            zoneinfo.ZoneInfo(self.spec.time.zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return "UTC"
        return self.spec.time.zone

    def report(
        self, code: str, message: str, remedy: str, field: str, value: object = None, known: Iterable[str] = ()
    ) -> None:
        """A mistake in the FSC."""
        self.findings.in_spec(code, message, remedy, field=field, value=value, known=known)

    def table(self, name: str, field: str) -> Table | None:
        """The registry table, or a reported mistake."""
        table = self.registry.table(name)
        if table is None:
            self.findings.in_spec(
                "unknown-table",
                f"The registry has no table {name!r}.",
                "Register it, or name another.",
                field=field,
                value=name,
                known=[table.name for table in self.registry.tables],
            )
        return table

    def column(self, name: str, columns: Columns, field: str) -> SparkType | None:
        """The type of a column, or a reported mistake."""
        if name not in columns and name not in columns.broken:
            self.findings.in_spec(
                "unknown-column",
                f"There is no column {name!r} here.",
                f"Columns here: {listing(columns.types)}.",
                field=field,
                value=name,
                known=columns.types,
            )
        return columns.types.get(name)

    def expression(
        self,
        text: str,
        columns: Columns,
        field: str,
        *,
        kind: Literal["row", "aggregate"] = "row",
        wanted: Literal["boolean", "numeric", "any"] = "any",
    ) -> Checked:
        """An expression held against the columns; its mistakes are reported."""
        checked = check(text, columns.types, kind, wanted, known=columns.broken)
        self.findings.in_expression(checked.faults, field)
        if checked.tree is not None:
            self.findings.in_expression(oversights(checked.tree, columns.values), field)
        return checked


def listing(names: Iterable[str]) -> str:
    """Names for a message, shortened."""
    shown = list(names)
    return ", ".join(shown[:12]) + (", ..." if len(shown) > 12 else "")
