"""What can be wrong with a registry by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from palmette.features.spec.dfr import Column, Registry, Table
from palmette.features.spec.findings import Findings
from palmette.features.spec.literals import to_python

TIME_FIELDS = ("event_time", "available_time", "valid_from", "valid_to")
_NEEDED = {
    "event": ("event_time",),
    "snapshot": ("event_time",),
    "scd2": ("valid_from", "valid_to"),
    "dimension": (),
}
_PERMITTED = {
    "event": ("event_time", "available_time"),
    "snapshot": ("event_time", "available_time"),
    "scd2": ("valid_from", "valid_to", "available_time"),
    "dimension": (),
}


def lint_registry(registry: Registry, findings: Findings) -> None:
    """Reports every mistake of the registry."""
    for name, index in _repeated(table.name for table in registry.tables):
        findings.in_registry(
            "duplicate-table",
            f"There are two tables named {name!r}.",
            "Rename one.",
            field=f"tables[{index}].name",
            value=name,
        )
    for index, table in enumerate(registry.tables):
        _Lint(table, f"tables[{index}]", findings).run()


class _Lint:
    """The checks of one table."""

    def __init__(self, table: Table, field: str, findings: Findings) -> None:
        self.table = table
        self.field = field
        self.findings = findings
        self.columns = [column.name for column in table.columns]

    def run(self) -> None:
        self._place()
        self._columns()
        self._keys()
        self._times()
        self._partitions()

    def _report(
        self, code: str, message: str, remedy: str, part: str, value: object = None, known: Iterable[str] = ()
    ) -> None:
        self.findings.in_registry(code, message, remedy, field=f"{self.field}.{part}", value=value, known=known)

    def _unknown(self, name: str, part: str) -> bool:
        if name in self.columns:
            return False
        self._report(
            "unknown-column",
            f"Table {self.table.name!r} has no column {name!r}.",
            "Register the column, or name another.",
            part,
            name,
            self.columns,
        )
        return True

    def _place(self) -> None:
        table = self.table
        if table.path is None and table.table is None:
            self._report(
                "missing-path",
                f"Table {table.name!r} has neither a path nor a catalogue table.",
                "Give `path` or `table`.",
                "name",
                table.name,
            )
        if table.path is not None and table.table is not None:
            self._report(
                "path-and-table",
                f"Table {table.name!r} has both a path and a catalogue table.",
                "Keep one.",
                "table",
                table.table,
            )

    def _columns(self) -> None:
        for name, index in _repeated(name.casefold() for name in self.columns):
            self._report(
                "duplicate-column",
                f"Table {self.table.name!r} has the column {name!r} twice (Spark ignores upper and lower case).",
                "Rename one.",
                f"columns[{index}].name",
                self.columns[index],
            )
        for index, column in enumerate(self.table.columns):
            self._column(column, f"columns[{index}]")

    def _column(self, column: Column, part: str) -> None:
        kind = column.type.parsed
        if kind.name == "null":
            self._report(
                "bad-column-type",
                f"Column {column.name!r} cannot be of type null.",
                "Give its type.",
                f"{part}.type",
                kind,
            )
        if column.length is not None and kind.name != "array":
            self._report(
                "superfluous-length",
                f"Column {column.name!r} is {kind}, which has no number of elements.",
                "Leave `length` out.",
                f"{part}.length",
                column.length,
            )
        if column.unit is not None and not kind.is_integer:
            self._report(
                "superfluous-unit",
                f"Column {column.name!r} is {kind}; a unit is for integers that hold an instant.",
                "Leave `unit` out.",
                f"{part}.unit",
                column.unit,
            )
        for index, value in enumerate(column.values):
            try:
                to_python(value, kind)
            except ValueError as error:
                self._report(
                    "value-does-not-fit",
                    f"Column {column.name!r} is {kind}: {error}.",
                    "Mend the value.",
                    f"{part}.values[{index}]",
                    value,
                )

    def _keys(self) -> None:
        for index, key in enumerate(self.table.keys):
            part = f"keys[{index}]"
            if self._unknown(key, part):
                continue
            column = self.table.column(key)
            kind = column.type.parsed if column else None
            if kind and kind.name in ("float", "double", "array", "map"):
                self._report(
                    "bad-key-type",
                    f"Key {key!r} is {kind}, which does not identify a row reliably.",
                    "Use a key of another type.",
                    part,
                    key,
                )
        for name, index in _repeated(self.table.keys):
            self._report(
                "duplicate-key-column",
                f"The key {name!r} is named twice.",
                "Keep one.",
                f"keys[{index}]",
                name,
            )

    def _times(self) -> None:
        table = self.table
        for part in TIME_FIELDS:
            name: str | None = getattr(table, part)
            if name is None:
                if part in _NEEDED[table.kind]:
                    self._report(
                        "missing-time",
                        f"{_article(table.kind)} table needs {part!r}; {table.name!r} has none.",
                        f"Name the column in `{part}`, or choose another `kind`.",
                        "kind",
                        table.kind,
                    )
                continue
            if part not in _PERMITTED[table.kind]:
                self._report(
                    "superfluous-time",
                    f"{_article(table.kind)} table has no {part!r}.",
                    f"Leave it out, or choose another `kind` than {table.kind!r}.",
                    part,
                    name,
                )
            if not self._unknown(name, part):
                self._time_type(name, part)

    def _time_type(self, name: str, part: str) -> None:
        column = self.table.column(name)
        assert column is not None
        kind = column.type.parsed
        if kind.is_integer and column.unit is None:
            self._report(
                "missing-unit",
                f"The time {name!r} is {kind}, and its unit is not given.",
                "Add `unit: s`, `ms` or `us` to the column.",
                part,
                name,
            )
        elif not (kind.is_temporal or kind.is_integer):
            self._report(
                "bad-time-type",
                f"The time {name!r} is {kind}; it must be a timestamp, a date or an integer with a unit.",
                "Register the column as it is after loading, or name another.",
                part,
                name,
            )

    def _partitions(self) -> None:
        for index, partition in enumerate(self.table.partitions):
            part = f"partitions[{index}]"
            if self._unknown(partition.column, f"{part}.column") or partition.of is None:
                continue
            column = self.table.column(partition.column)
            kind = column.type.parsed if column else None
            if getattr(self.table, partition.of) is None:
                self._report(
                    "missing-time",
                    f"Partition {partition.column!r} is said to be of {partition.of!r}, which the table does not name.",
                    f"Name it in `{partition.of}`.",
                    f"{part}.of",
                    partition.of,
                )
            if kind and kind.name not in ("date", "string"):
                self._report(
                    "bad-partition-type",
                    f"Partition {partition.column!r} is {kind}; a day is a date or text.",
                    "Leave `of` out, or mend the type.",
                    f"{part}.column",
                    partition.column,
                )


def _repeated(names: Iterable[str]) -> Iterator[tuple[str, int]]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield name, index
        seen.add(name)


def _article(kind: str) -> str:
    return f"{'An' if kind[0] in 'aeiou' else 'A'} {kind}"
