"""Checks that need only the registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from palmette.features.spec.dfr import RegisteredColumn, Registry, Table
from palmette.features.spec.literals import lint_value
from palmette.features.spec.problems import ProblemCollector

TIME_FIELDS = ("event_time", "available_time", "valid_from", "valid_to")
UNRELIABLE_KEYS = ("float", "double", "array", "map")
"""Types whose values cannot reliably identify a row."""
_NEEDED = {"event": ("event_time",), "snapshot": ("event_time",), "scd2": ("valid_from", "valid_to"), "dimension": ()}
"""Required time columns by table kind; all kinds except dimensions may also have `available_time`."""


def lint_registry(registry: Registry, findings: ProblemCollector) -> None:
    """Reports every error in the registry."""
    for name, index in _repeated(table.name for table in registry.tables):
        findings.report("duplicate-table", f"tables[{index}].name", name)
    for index, table in enumerate(registry.tables):
        _TableLint(table, f"tables[{index}]", findings).run()


class _TableLint:
    """The checks of one table."""

    def __init__(self, table: Table, field: str, findings: ProblemCollector) -> None:
        self.table, self.field, self.findings = table, field, findings
        self.columns = [column.name for column in table.columns]

    def run(self) -> None:
        table = self.table
        if table.path is None and table.table is None:
            self._report("missing-path", "name", table.name)
        if table.path is not None and table.table is not None:
            self._report("path-and-table", "table", table.table)
        for name, index in _repeated(name.casefold() for name in self.columns):
            self._report("duplicate-column", f"columns[{index}].name", self.columns[index], name=name)
        for index, column in enumerate(table.columns):
            self._column(column, f"columns[{index}]")
        self._keys()
        self._times()
        self._partitions()

    def _report(
        self, problem: str, part: str, value: object = None, known: Iterable[object] = (), /, **facts: object
    ) -> None:
        self.findings.report(problem, f"{self.field}.{part}", value, known, table=self.table.name, **facts)

    def _registered(self, name: str, part: str) -> RegisteredColumn | None:
        column = self.table.column(name)
        if column is None:
            self._report("unknown-column/registry", part, name, self.columns)
        return column

    def _column(self, column: RegisteredColumn, part: str) -> None:
        kind = column.type.parsed
        if kind.name == "null":
            self._report("bad-column-type", f"{part}.type", kind, column=column.name)
        if column.length is not None and kind.name != "array":
            self._report("superfluous-length", f"{part}.length", column.length, column=column.name, kind=kind)
        if column.unit is not None and not kind.is_integer:
            self._report("superfluous-unit", f"{part}.unit", column.unit, column=column.name, kind=kind)
        for index, value in enumerate(column.values):
            lint_value(value, kind, column.name, f"{self.field}.{part}.values[{index}]", self.findings.report)

    def _keys(self) -> None:
        for index, key in enumerate(self.table.keys):
            column = self._registered(key, f"keys[{index}]")
            if column is not None and column.type.parsed.name in UNRELIABLE_KEYS:
                self._report("bad-key-type/registry", f"keys[{index}]", key, kind=column.type)
        for name, index in _repeated(self.table.keys):
            self._report("duplicate-key-column", f"keys[{index}]", name)

    def _times(self) -> None:
        kind = self.table.kind
        a_kind = f"{'An' if kind[0] in 'aeiou' else 'A'} {kind}"
        for part in TIME_FIELDS:
            name: str | None = getattr(self.table, part)
            if name is None:
                if part in _NEEDED[kind]:
                    self._report("missing-time", "kind", kind, a_kind=a_kind, part=part)
                continue
            if part not in _NEEDED[kind] and (kind == "dimension" or part != "available_time"):
                self._report("superfluous-time", part, name, a_kind=a_kind, part=part, table_kind=kind)
            column = self._registered(name, part)
            if column is None:
                continue
            if column.type.parsed.is_integer and column.unit is None:
                self._report("missing-unit", part, name, kind=column.type)
            elif not (column.type.parsed.is_temporal or column.type.parsed.is_integer):
                self._report("bad-time-type", part, name, kind=column.type)

    def _partitions(self) -> None:
        for index, partition in enumerate(self.table.partitions):
            part = f"partitions[{index}]"
            column = self._registered(partition.column, f"{part}.column")
            if column is None or partition.of is None:
                continue
            if getattr(self.table, partition.of) is None:
                self._report("missing-time/partition", f"{part}.of", partition.of, column=partition.column)
            if column.type.parsed.name not in ("date", "string"):
                self._report("bad-partition-type", f"{part}.column", partition.column, kind=column.type)


def _repeated(names: Iterable[str]) -> Iterator[tuple[str, int]]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield name, index
        seen.add(name)
