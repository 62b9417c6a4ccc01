"""Writes a pytest file from test cases by rules, in the team's conventions."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from palmette.features.actors.testcase_coder.literals import (
    INDENT,
    ImpliedCells,
    cell_text,
    instant_text,
    rows_text,
    schema_text,
    wrapped,
)
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import timestamp_of
from palmette.features.oracle.clock import MICROSECOND
from palmette.features.pyspark.io import needed_columns
from palmette.features.signature import BoundParameter, shape_of, signature
from palmette.features.spec.view import AS_OF, Schema, View

_HELPERS = Path(__file__).with_name("helpers.py.j2")
OWN_FIXTURE = "spark"
"""Name of the fixture in tests of a team without one."""


def file_of_tests(view: View, cases: TestCases, conventions: Conventions, module: str) -> str:
    """The unformatted source of the test file; `module` is the import name of the script."""
    entry, cutoff = shape_of(conventions, "build").name, usual_cutoff(cases)
    alike: dict[tuple[str, ...], list[TestCase]] = {}
    for case in cases.cases:
        lines = (reading(view, conventions, case), *assertion(view, conventions, case))
        alike.setdefault(lines, []).append(case)
    tests = [
        part
        for number, (lines, group) in enumerate(alike.items(), 1)
        for part in _tests(view, conventions, lines, group, cutoff, f"_{number}" if number > 1 else "")
    ]
    own = [f"from {module} import {conventions.owner or entry}", *conventions.instance_imports]
    imports = "\n".join(["from pyspark.testing import assertDataFrameEqual", "", *own])
    doc = f'"""Tests of the feature view `{view.name}`."""'
    head = f"{doc}\n\nfrom __future__ import annotations\n\n{helpers(view, conventions, cutoff, imports)}"
    return "\n\n\n".join([head, *tests]) + "\n"


def _tests(
    view: View,
    conventions: Conventions,
    lines: Sequence[str],
    cases: Sequence[TestCase],
    cutoff: str | None,
    number: str,
) -> list[str]:
    """Cases that are compared in the same way: a dict of their texts by name, and the test that they share."""
    entries = []
    for case in cases:
        reason = textwrap.wrap(" ".join(case.why.split()), conventions.line_length - 6, break_long_words=False)
        entries += [
            *(f"    # {line}" for line in reason),
            f"    {case.name!r}: {case_text(view, conventions, case, cutoff)},",
        ]
    name = f"CASES{number}"
    return [
        "\n".join([f"{name} = {{", *entries, "}"]),
        "\n".join(
            [
                f'@pytest.mark.parametrize("text", {name}.values(), ids={name})',
                f"def test_case{number}({fixture_of(conventions)}: SparkSession, text: str) -> None:",
                '    """Compare the rows that a case expects with those that come out."""',
                *(f"    {line}" for line in lines),
            ]
        ),
    ]


def usual_cutoff(cases: TestCases) -> str | None:
    """The cut-off of most cases, which they leave out."""
    found = Counter(case.as_of for case in cases.cases if case.as_of)
    return max(found, key=found.__getitem__, default=None)


def helpers(view: View, conventions: Conventions, cutoff: str | None, imports: str = "") -> str:
    """Imports, schemas and functions that build the data frames of the tests; a formatter removes unused imports."""
    schemas = {name: table_schema(view, name) for name in sorted(view.tables)}
    kinds = [str(kind) for schema in (*schemas.values(), view.output) for kind in schema.values()]
    implied = {name: cell_text(view.output[name], default) for name, default in _defaults(view, None).items()}
    if view.cutoff != "spine":
        implied |= {AS_OF: "T"} if AS_OF in view.output else {}
        implied |= {view.partition: "T-1us"} if view.partition else {}
    return rendered(
        _HELPERS,
        imports=imports,
        tables={name: _wrapped(schema_text(schema), conventions) for name, schema in schemas.items()},
        output=_wrapped(schema_text(view.output), conventions),
        defaults=_quoted(wrapped("", implied, conventions.line_length - len(INDENT))),
        follows=follows(view),
        cutoff=instant_text(timestamp_of(cutoff)) if cutoff else "",
        fixture="" if conventions.fixture else OWN_FIXTURE,
        kinds=" ".join(kinds),
    )


def rendered(template: Path, **values: Any) -> str:
    """Source code from a template of this folder."""
    from jinja2 import StrictUndefined, Template

    return str(Template(template.read_text(encoding="utf-8"), undefined=StrictUndefined).render(values))


def table_schema(view: View, name: str) -> Schema:
    """The columns that the view reads."""
    read = needed_columns(view, view.tables[name])
    return {column.name: column.type.parsed for column in view.tables[name].columns if column.name in read}


def inputs_of(view: View, case: TestCase) -> dict[str, tuple[dict[str, Any], ...]]:
    """The rows of a case, with only the columns that the view reads."""
    return case.of_columns({name: table_schema(view, name) for name in case.given}).given


def follows(view: View) -> dict[str, str]:
    """Columns that are left out where they follow from the event's time: availability times and days."""
    found = {}
    for table in view.tables.values():
        kinds = {column.name: str(column.type) for column in table.columns}
        for name in filter(None, (table.available_time, *(part.column for part in table.partitions if part.of))):
            if kinds.get(table.event_time or "") == "timestamp" and kinds[name] in ("timestamp", "date"):
                found[name] = table.event_time or ""
    return found


def _wrapped(text: str, conventions: Conventions) -> str:
    """Splits a long string into implicitly concatenated pieces."""
    lines = textwrap.wrap(text, conventions.line_length - 20, break_long_words=False)
    if len(lines) == 1:
        return repr(text)
    pieces = [repr(line + " ") for line in lines[:-1]] + [repr(lines[-1])]
    return "(\n" + "\n".join(f"    {piece}" for piece in pieces) + "\n)"


def fixture_of(conventions: Conventions) -> str:
    return conventions.fixture or OWN_FIXTURE


def case_text(view: View, conventions: Conventions, case: TestCase, usual: str | None, indent: str = INDENT) -> str:
    """The cut-off, the tables and the expected rows of a case, as the helper `read` takes them."""
    width, cutoff = conventions.line_length - 2 * len(INDENT), timestamp_of(case.as_of) if case.as_of else None
    given = ImpliedCells(follows=follows(view), cutoff=None if case.example else cutoff)
    lines = [f"{INDENT}@ {instant_text(cutoff)}"] if cutoff and case.as_of != usual else []
    lines += [
        rows_text(table_schema(view, name), rows, width, f"{name}:", given)
        for name, rows in inputs_of(view, case).items()
    ]
    if case.expect:
        expected = given._replace(values=_defaults(view, cutoff))
        lines.append(rows_text(_compared(view, case), case.expect, width, "=>", expected))
    return _quoted("\n".join(lines).split("\n"), indent)


def _quoted(lines: Sequence[str], indent: str = "") -> str:
    """Lines as a string literal that ends at this indentation."""
    text = "\n".join(f"{indent}{line}" for line in lines)
    raw = "r" if "\\" in text else ""
    return f'{raw}"""\n{text}\n{indent}"""'


def _defaults(view: View, cutoff: datetime | None) -> dict[str, Any]:
    """The output's values that a case leaves out: defaults of features, its cut-off, and the day before that."""
    found = {
        feature.name: feature.default
        for feature in view.features
        if not feature.internal and feature.default is not None
    }
    if cutoff is not None:
        found |= {AS_OF: cutoff} if AS_OF in view.output else {}
        found |= {view.partition: cutoff - MICROSECOND} if view.partition else {}
    return found


def reading(view: View, conventions: Conventions, case: TestCase) -> str:
    """The line of a test that reads its case."""
    columns = _compared(view, case)
    schema = "" if columns == view.output else f", {_wrapped(schema_text(columns), conventions)}"
    as_of = "as_of" if any(one.meaning == "as_of" for one in signature(view, conventions, "build")) else "_"
    return f"given, expected, {as_of} = read({fixture_of(conventions)}, text{schema})"


def rows_of(view: View, case: TestCase, conventions: Conventions, usual: str | None) -> str:
    """The lines of a test of its own that read its inputs (`given`, `as_of`) and its expected output."""
    return f"text = {case_text(view, conventions, case, usual, '')}\n{reading(view, conventions, case)}"


def assertion(view: View, conventions: Conventions, case: TestCase) -> list[str]:
    """The lines of a test that call the function on the inputs and compare the columns that the case specifies."""
    given = (_argument(view, each, fixture_of(conventions)) for each in signature(view, conventions, "build"))
    columns = _compared(view, case)
    actual = "actual" if columns == view.output else "actual.select(expected.columns)"
    lines = [f"actual = {_called(conventions)}({', '.join(filter(None, given))})"]
    if case.partial:
        keys = [name for name in view.identity if name in columns]
        lines.append(f'actual = actual.join(expected, on={keys!r}, how="left_semi")')
    return [*lines, f"assertDataFrameEqual({actual}, expected)"]


def _called(conventions: Conventions) -> str:
    name = shape_of(conventions, "build").name
    return f"{conventions.instance}.{name}" if conventions.instance else name


def _compared(view: View, case: TestCase) -> Schema:
    """The output columns that the case specifies."""
    if not case.expect:
        return view.output
    return {name: kind for name, kind in view.output.items() if any(name in row for row in case.expect)}


def _argument(view: View, bound: BoundParameter, fixture: str) -> str:
    match bound.meaning:
        case "spark":
            return fixture
        case "tables":
            return "given"
        case "table" if bound.table:
            return f'given["{bound.table}"]'
        case "table" | "frame" if len(view.tables) == 1:
            return f'given["{next(iter(view.tables))}"]'
        case "as_of" if bound.annotation.replace(" ", "").lower().startswith("str"):
            return "as_of.isoformat()"
        case "as_of":
            return "as_of"
        case "config":
            return "None"
        case _:
            return ""
