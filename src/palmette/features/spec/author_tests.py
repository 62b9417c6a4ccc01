"""Checks the author's tests in an FSC: tables and columns exist, values fit their types, cut-offs are correct."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

from palmette.features.spec.fsc import UnitTest
from palmette.features.spec.literals import lint_value
from palmette.features.spec.scope import ResolutionScope
from palmette.features.spec.values import SparkType


def lint_tests(
    scope: ResolutionScope, output: Mapping[str, SparkType], tables: Sequence[str], hidden: Collection[str] = ()
) -> None:
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


def _row(
    row: Mapping[str, object], schema: Mapping[str, SparkType], where: str, field: str, scope: ResolutionScope
) -> None:
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


def is_midnight(timestamp: datetime, zone: str) -> bool:
    """Whether this timestamp (UTC if it has no offset) is midnight in the zone."""
    aware = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
    return aware.astimezone(ZoneInfo(zone)).time() == time(0)
