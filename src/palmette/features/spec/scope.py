"""Shared state while a view is resolved: the documents, the grain, and columns with their origins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from palmette.documents import ProblemCollector
from palmette.features.spec.dfr import Registry, Table
from palmette.features.spec.expressions import CheckedExpression, Kind, Wanted, check, likely_mistakes, listing
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.values import SparkType
from palmette.problems import Reporter

Origins = frozenset[str]  # columns of registry tables, as `table.column`

NOTHING: Origins = frozenset()


@dataclass
class ColumnSet:
    """The columns available at one point, with types and origins. Grows as steps add columns."""

    types: dict[str, SparkType]
    origins: dict[str, Origins]
    broken: set[str] = field(default_factory=set)  # columns whose definition has an error that was already reported
    values: dict[str, tuple[str | int | bool, ...]] = field(default_factory=dict)
    """Closed sets of values, for columns that have one."""

    @classmethod
    def of_table(cls, table: Table) -> ColumnSet:
        origins = {column.name: frozenset({f"{table.name}.{column.name}"}) for column in table.columns}
        values = {column.name: column.values for column in table.columns if column.values}
        return cls(table.column_types, origins, values=values)

    def put(self, name: str, kind: SparkType | None, origins: Origins) -> None:
        """Adds or replaces a column without a closed set of values; one without a type is marked as broken."""
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
class ResolutionScope:
    """The two documents, the problems found so far, and the grain."""

    spec: FeatureSpec
    registry: Registry
    findings: ProblemCollector
    grain: Mapping[str, SparkType]
    zone: str
    """The view's zone; UTC if it does not exist, which is reported elsewhere."""

    @property
    def report(self) -> Reporter:
        """Reports a problem in the FSC."""
        return self.findings.report

    def table(self, name: str, field: str) -> Table | None:
        """The registry table; reports an unknown name."""
        table = self.registry.table(name)
        if table is None:
            self.report("unknown-table", field, name, [table.name for table in self.registry.tables])
        return table

    def column(self, name: str, columns: ColumnSet, field: str) -> SparkType | None:
        """The type of a column; reports an unknown name."""
        if name not in columns and name not in columns.broken:
            self.report("unknown-column", field, name, columns.types, columns=listing(columns.types, name))
        return columns.types.get(name)

    def among(self, value: object, column: str, closed: Sequence[object], field: str) -> None:
        """Reports a value outside of the column's closed set of values."""
        if closed and value not in closed:
            self.report("unknown-value", field, value, map(str, closed), column=column)

    def expression(
        self, text: str, columns: ColumnSet, field: str, *, kind: Kind = "row", wanted: Wanted = "any"
    ) -> CheckedExpression:
        """Checks an expression against the columns and reports its problems."""
        checked = check(text, columns.types, kind, wanted, known=columns.broken)
        self.findings.add(checked.faults, field)
        if checked.tree is not None:
            self.findings.add(likely_mistakes(checked.tree, columns.values), field)
        return replace(checked, origins=columns.origins_of(checked.columns))

    def condition(self, text: str | None, columns: ColumnSet, field: str) -> Origins:
        """Checks a condition, if there is one; returns the columns that it depends on."""
        return NOTHING if text is None else self.expression(text, columns, field, wanted="boolean").origins
