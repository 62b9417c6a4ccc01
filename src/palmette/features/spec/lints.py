"""Checks of well-formed documents: the registry, the run file, and the author's tests in an FSC."""

import os
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from palmette.documents import Located, ProblemCollector, read_document
from palmette.errors import InputError, Mistake
from palmette.features.spec.dfr import RegisteredColumn, Registry, Table
from palmette.features.spec.fsc import FeatureSpec, UnitTest
from palmette.features.spec.literals import lint_value
from palmette.features.spec.run import CutoffInterval, Repository, Run
from palmette.features.spec.scope import ResolutionScope
from palmette.features.spec.view import Schema
from palmette.problems import Reporter

TIME_FIELDS = ("event_time", "available_time", "valid_from", "valid_to")
UNRELIABLE_KEYS = ("float", "double", "array", "map")  # types whose values cannot reliably identify a row
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


def check_run(run: Located[Run], folder: Path) -> list[Mistake]:
    """All problems of a well-formed run file in `folder`."""
    findings = ProblemCollector(run)
    report, value = findings.report, run.value
    _paths(value, folder, report)
    _interval(value.interval, report)
    if (value.output.path is None) == (value.output.table is None):
        report("output-form/none" if value.output.path is None else "output-form/both", "output")
    class_name = value.repository.config_class
    if class_name is not None and class_name.count(":") != 1:
        report("bad-class-name", "repository.config_class", class_name)
    _test_command(value.repository, folder, report)
    with suppress(InputError):
        _cutoff(value.interval, read_document(folder / value.fsc, FeatureSpec), report)
    return findings.problems


def _paths(run: Run, folder: Path, report: Reporter) -> None:
    for field, text in {"fsc": run.fsc, "dfr": run.dfr, "topology": run.topology}.items():
        if text is not None:
            _require_path(field, folder / text, "file", report)
    repository = folder / run.repository.path
    if not repository.is_dir():
        _require_path("repository.path", repository, "folder", report)
        return
    inside = {"repository.readme": run.repository.readme} if "readme" in run.repository.model_fields_set else {}
    inside |= {f"repository.utilities[{i}]": text for i, text in enumerate(run.repository.utilities)}
    for field, text in inside.items():
        if not Path(os.path.realpath(repository / text)).is_relative_to(os.path.realpath(repository)):
            report("outside-repository", field, text)
        elif not (repository / text).exists():
            _require_path(field, repository / text, "file", report)


def _require_path(field: str, path: Path, kind: str, report: Reporter) -> None:
    """Reports a missing file or folder."""
    if path.is_file() if kind == "file" else path.is_dir():
        return
    path = Path(os.path.normpath(path))
    is_other = path.is_dir() or path.is_file()
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() and not path.exists() else []
    problem = f"no-such-{kind}" + (f"/{'file' if kind == 'folder' else 'folder'}" if is_other else "")
    report(problem, field, path.name, names, path=str(path))


def _test_command(repository: Repository, folder: Path, report: Reporter) -> None:
    command, program = repository.test_command, ""
    if command is None:
        return
    try:
        program = next(iter(shlex.split(command)), "")
        is_own = (folder / repository.path / program).is_file()
    except (ValueError, OSError):
        program = ""
    if not program:
        report("bad-command", "repository.test_command", command)
    elif not (shutil.which(program) or is_own or program == "python"):
        report("bad-command/missing", "repository.test_command", command, program=program)


def _interval(interval: CutoffInterval, report: Reporter) -> None:
    days = [part for part in (interval.start, interval.end) if part is not None]
    if interval.as_of is not None and days:
        report("interval-form/both", "interval")
    elif len(days) == 1:
        report("interval-form/half", "interval", "end" if interval.start else "start")
    elif interval.start is not None and interval.end is not None and interval.end <= interval.start:
        report("empty-interval", "interval.end", interval.end.isoformat())


def _cutoff(interval: CutoffInterval, spec: FeatureSpec, report: Reporter) -> None:
    """Checks the interval against the specification's cut-off."""
    cutoff = spec.time.cutoff
    if cutoff == "spine":
        return
    if interval.as_of is None and interval.start is None:
        report("interval-form/none", "interval")
        return
    if cutoff == "run" and interval.start is not None:
        report("interval-form/days", "interval.start", interval.start)
    for name in ("as_of", "start", "end") if cutoff == "partition" and is_zone(spec.time.zone) else ():
        timestamp = getattr(interval, name)
        if timestamp is not None and not is_midnight(timestamp, spec.time.zone):
            facts = {"name": name, "zone": spec.time.zone}
            report("not-midnight/interval", f"interval.{name}", timestamp.isoformat(), **facts)


def lint_tests(scope: ResolutionScope, output: Schema, tables: Sequence[str], hidden: Collection[str] = ()) -> None:
    """Reports every error in the tests of the specification.

    Args:
        hidden: features that were already reported and are therefore missing from the output.
    """
    explained = bool(hidden) or len(scope.findings) > 0  # a source with errors could read any table
    for index, test in enumerate(scope.spec.tests):
        field = f"tests[{index}]"
        if test.name in [other.name for other in scope.spec.tests[:index]]:
            scope.report("duplicate-test", f"{field}.name", test.name)
        _as_of(test, scope, field)
        for name, rows in test.given.items():
            table = scope.registry.table(name)
            if table is None or (name not in tables and not explained):
                scope.report("unknown-table/test", f"{field}.given.{name}", name, tables)
                continue
            for place, row in enumerate(rows):
                _row(row, table.column_types, f"table {name!r}", f"{field}.given.{name}[{place}]", scope)
        for place, row in enumerate(test.expect):
            row = {name: value for name, value in row.items() if not name.startswith(tuple(hidden))}
            _row(row, output, "the output", f"{field}.expect[{place}]", scope)


def _row(row: Mapping[str, object], schema: Schema, where: str, field: str, scope: ResolutionScope) -> None:
    for name, value in row.items():
        if name in schema:
            lint_value(value, schema[name], name, f"{field}.{name}", scope.report, scope.zone)
        else:
            scope.report("unknown-column/test", f"{field}.{name}", name, schema, where=where)


def _as_of(test: UnitTest, scope: ResolutionScope, field: str) -> None:
    cutoff = scope.spec.time.cutoff
    if test.as_of is None:
        if cutoff != "spine":
            scope.report("missing-as-of", f"{field}.name", test=test.name)
        return
    if cutoff == "spine":
        scope.report("superfluous-as-of", f"{field}.as_of", test.as_of, test=test.name)
        return
    try:
        timestamp = datetime.fromisoformat(test.as_of)
    except ValueError:
        scope.report("value-does-not-fit/as-of", f"{field}.as_of", test.as_of)
        return
    if cutoff == "partition" and not is_midnight(timestamp, scope.zone):
        scope.report("not-midnight", f"{field}.as_of", test.as_of, zone=scope.zone)


def is_zone(name: str) -> bool:
    """Whether this is the name of a time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def is_midnight(timestamp: datetime, zone: str) -> bool:
    """Whether this timestamp (UTC if it has no offset) is midnight in the zone."""
    aware = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
    return aware.astimezone(ZoneInfo(zone)).time() == time(0)
