"""The author's own tests in an FSC: known tables and columns, values that fit, cut-offs where they belong."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

from palmette.features.spec.fsc import UnitTest
from palmette.features.spec.literals import to_python
from palmette.features.spec.scope import Scope
from palmette.features.spec.values import SparkType


def lint_tests(
    scope: Scope, output: Mapping[str, SparkType], tables: Sequence[str], hidden: Collection[str] = ()
) -> None:
    """Reports every mistake in the tests of the specification.

    Args:
        hidden: features with a mistake that was reported, which are therefore missing from the output.
    """
    explained = bool(hidden) or scope.findings.count > 0  # a source with a mistake can read any table
    for index, test in enumerate(scope.spec.tests):
        field = f"tests[{index}]"
        if test.name in [other.name for other in scope.spec.tests[:index]]:
            scope.findings.in_spec(
                "duplicate-test",
                f"There are two tests named {test.name!r}.",
                "Rename one.",
                field=f"{field}.name",
                value=test.name,
            )
        _as_of(test, scope, field)
        for name, rows in test.given.items():
            table = scope.registry.table(name)
            if table is None or (name not in tables and not explained):
                scope.findings.in_spec(
                    "unknown-table",
                    f"The view reads no table {name!r}.",
                    "Leave it out, or name another.",
                    field=f"{field}.given.{name}",
                    value=name,
                    known=tables,
                )
                continue
            schema = {column.name: column.type.parsed for column in table.columns}
            for place, row in enumerate(rows):
                _row(row, schema, f"table {name!r}", f"{field}.given.{name}[{place}]", scope)
        for place, row in enumerate(test.expect):
            row = {name: value for name, value in row.items() if not name.startswith(tuple(hidden))}
            _row(row, output, "the output", f"{field}.expect[{place}]", scope)


def _row(row: Mapping[str, object], schema: Mapping[str, SparkType], where: str, field: str, scope: Scope) -> None:
    for name, value in row.items():
        if name not in schema:
            scope.findings.in_spec(
                "unknown-column",
                f"There is no column {name!r} in {where}.",
                "Name one that is there.",
                field=f"{field}.{name}",
                value=name,
                known=schema,
            )
            continue
        try:
            to_python(value, schema[name], scope.zone)
        except ValueError as error:
            scope.findings.in_spec(
                "value-does-not-fit",
                f"Column {name!r} is {schema[name]}: {error}.",
                "Mend the value.",
                field=f"{field}.{name}",
                value=value,
            )


def _as_of(test: UnitTest, scope: Scope, field: str) -> None:
    cutoff = scope.spec.time.cutoff
    if (test.as_of is None) != (cutoff == "spine"):
        message, remedy = (
            ("needs an `as_of`", "Add it.")
            if test.as_of is None
            else ("has an `as_of`, but the rows of the spine bring their own", "Leave it out.")
        )
        scope.findings.in_spec(
            "missing-as-of" if test.as_of is None else "superfluous-as-of",
            f"The test {test.name!r} {message}.",
            remedy,
            field=f"{field}.as_of" if test.as_of else f"{field}.name",
            value=test.as_of,
        )
        return
    if test.as_of is None:
        return
    try:
        instant = datetime.fromisoformat(test.as_of)
    except ValueError:
        scope.findings.in_spec(
            "value-does-not-fit",
            f"{test.as_of!r} is not an instant.",
            "Write '2025-03-31T00:00:00Z'.",
            field=f"{field}.as_of",
            value=test.as_of,
        )
        return
    if cutoff == "partition" and not is_midnight(instant, scope.zone):
        scope.findings.in_spec(
            "not-midnight",
            f"{test.as_of!r} is not midnight in {scope.zone}; a partition ends with its day.",
            "Give the midnight after the partition's day.",
            field=f"{field}.as_of",
            value=test.as_of,
        )


def is_midnight(instant: datetime, zone: str) -> bool:
    """Whether a day of the zone begins at this instant (UTC when it has no offset)."""
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return aware.astimezone(ZoneInfo(zone)).time() == time(0)
