"""Writes a pytest file from test cases by rules, in the team's conventions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from palmette.features.actors.testcase_coder.literals import (
    INDENT,
    cell_text,
    instant_text,
    rows_text,
    schema_text,
    wrapped,
)
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import timestamp_of
from palmette.features.signature import BoundParameter, shape_of, signature
from palmette.features.spec.view import Schema, View


def file_of_tests(view: View, cases: TestCases, conventions: Conventions, module: str) -> str:
    """The unformatted source of the test file; `module` is the import name of the script."""
    entry = shape_of(conventions, "build").name
    alike: dict[tuple[str, ...], list[TestCase]] = {}
    for case in cases.cases:
        lines = (reading(view, conventions, case), *assertion(view, conventions, case))
        alike.setdefault(lines, []).append(case)
    tests = [
        part
        for number, (lines, group) in enumerate(alike.items(), 1)
        for part in _tests(view, conventions, lines, group, f"_{number}" if number > 1 else "")
    ]
    return "\n\n\n".join([_head(view, module, entry, conventions), *helpers(view, conventions), *tests]) + "\n"


def _tests(
    view: View, conventions: Conventions, lines: Sequence[str], cases: Sequence[TestCase], number: str
) -> list[str]:
    """Cases that are compared in the same way: a dict of their texts by name, and the test that they share."""
    entries = []
    for case in cases:
        reason = textwrap.wrap(" ".join(case.why.split()), conventions.line_length - 6, break_long_words=False)
        entries += [*(f"    # {line}" for line in reason), f"    {case.name!r}: {case_text(view, conventions, case)},"]
    name = f"CASES{number}"
    return [
        "\n".join([f"{name} = {{", *entries, "}"]),
        "\n".join(
            [
                f'@pytest.mark.parametrize("text", {name}.values(), ids={name})',
                f"def test_case{number}({fixture_of(conventions)}: SparkSession, text: str) -> None:",
                '    """The rows that a case expects come out of the rows that it gives."""',
                *(f"    {line}" for line in lines),
            ]
        ),
    ]


def _head(view: View, module: str, entry: str, conventions: Conventions) -> str:
    imports = "\n".join([f"from {module} import {conventions.owner or entry}", *conventions.instance_imports])
    return f'''"""Tests of the feature view `{view.name}`."""

from __future__ import annotations

{IMPORTS}
from pyspark.testing import assertDataFrameEqual

{imports}'''


IMPORTS = """import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession"""
"""Imports of the helpers and the rows; the formatter removes unused ones."""


def helpers(view: View, conventions: Conventions) -> list[str]:
    """The schemas of the tables and of the output, and the functions that build data frames for these tests."""
    own = [] if conventions.fixture else [_FIXTURE]
    kinds = [str(kind) for name in view.tables for kind in table_schema(view, name).values()]
    kinds += [str(kind) for kind in view.output.values()]
    parsers = [text for part, text in PARSERS.items() if any(part in kind for kind in kinds)]
    return [_schemas(view, conventions), *own, HELPERS.replace("    # parsers", "\n".join(parsers))]


def table_schema(view: View, name: str) -> Schema:
    return {column.name: column.type.parsed for column in view.tables[name].columns}


def _schemas(view: View, conventions: Conventions) -> str:
    schemas = {name: schema_text(table_schema(view, name)) for name in sorted(view.tables)}
    tables = [f"    {name!r}: {_wrapped(text, conventions)}," for name, text in schemas.items()]
    output = _wrapped(schema_text(view.output), conventions)
    implied = _quoted(wrapped("", defaults(view), conventions.line_length - len(INDENT)))
    return "\n".join(["TABLES = {", *tables, "}", f"OUTPUT = {output}", f"DEFAULTS = {implied}"])


def _wrapped(text: str, conventions: Conventions) -> str:
    """Splits a long string into implicitly concatenated pieces."""
    lines = textwrap.wrap(text, conventions.line_length - 20, break_long_words=False)
    if len(lines) == 1:
        return repr(text)
    pieces = [repr(line + " ") for line in lines[:-1]] + [repr(lines[-1])]
    return "(\n" + "\n".join(f"    {piece}" for piece in pieces) + "\n)"


OWN_FIXTURE = "spark"
"""Name of the fixture in tests of a team without one."""


def fixture_of(conventions: Conventions) -> str:
    return conventions.fixture or OWN_FIXTURE


_FIXTURE = f'''@pytest.fixture(scope="module")
def {OWN_FIXTURE}() -> Iterator[SparkSession]:
    """A local session."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    yield builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()'''

PARSERS = {
    "timestamp_ntz": '    if kind == "timestamp_ntz":\n        return datetime.fromisoformat(text)',
    "timestamp": '    if kind == "timestamp":\n        return at(text)',
    "date": '    if kind == "date":\n        return date.fromisoformat(text)',
    "decimal": '    if kind.startswith("decimal"):\n        return Decimal(text)',
    "array<": """    if kind.startswith("array<"):
        return [value(kind[6:-1], one if isinstance(one, str) else json.dumps(one)) for one in json.loads(text)]""",
    "map<": """    if kind.startswith("map<"):
        return {
            name: value(kind[11:-1], one if isinstance(one, str) else json.dumps(one))
            for name, one in json.loads(text).items()
        }""",
}
"""By a part of a type's name: the lines of the helper `value` that read it."""
HELPERS = '''def at(text: str) -> datetime:
    """An instant, in UTC where the text has no offset."""
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=timezone.utc)


def value(kind: str, text: str) -> Any:
    """A text as a value of a Spark type."""
    if text == "null":
        return None
    # parsers
    is_plain = kind == "string" and not text.startswith('"')
    return text if is_plain else json.loads(text)


def frame(spark: SparkSession, schema: str, text: str | None) -> DataFrame:
    """Rows of `name=value`; those before the first dash hold for all."""
    parts = [re.split(r"  +|\\n *", part.strip(" \\n")) for part in re.split(r"(?m)^ *-(?: |$)", text or "")]
    usual, *own = [dict(pair.split("=", 1) for pair in part if pair) for part in parts]
    rows = [] if text is None else [{**usual, **row} for row in own or [{}]]
    kinds = [column.split() for column in schema.split(", ")]
    return spark.createDataFrame([[value(kind, row.get(name, "null")) for name, kind in kinds] for row in rows], schema)


def read(spark: SparkSession, text: str, output: str = OUTPUT) -> tuple[dict[str, DataFrame], DataFrame, Any]:
    """What a case gives, what it expects (`=>`), and its cut-off (`@`)."""
    parts = re.split(r"(?m)^ *(\\w+:|=>|@)", text)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    given = {name: frame(spark, schema, found.get(f"{name}:")) for name, schema in TABLES.items()}
    expected = frame(spark, output, f"{DEFAULTS}\\n{found['=>']}" if "=>" in found else None)
    return given, expected, at(found["@"].strip()) if "@" in found else None'''


def case_text(view: View, conventions: Conventions, case: TestCase, indent: str = INDENT) -> str:
    """The cut-off, the tables and the expected rows of a case, as the helper `read` takes them."""
    width = conventions.line_length - 2 * len(INDENT)
    lines = [f"{INDENT}@ {instant_text(timestamp_of(case.as_of))}"] if case.as_of else []
    lines += [rows_text(table_schema(view, name), rows, width, f"{name}:") for name, rows in case.given.items()]
    if case.expect:
        lines.append(rows_text(_compared(view, case), case.expect, width, "=>", defaults(view)))
    return _quoted("\n".join(lines).split("\n"), indent)


def _quoted(lines: Sequence[str], indent: str = "") -> str:
    """Lines as a string literal that ends at this indentation."""
    text = "\n".join(f"{indent}{line}" for line in lines)
    raw = "r" if "\\" in text else ""
    return f'{raw}"""\n{text}\n{indent}"""'


def defaults(view: View) -> dict[str, str]:
    """The features' defaults, as cells of a test."""
    return {
        feature.name: cell_text(feature.dtype, feature.default)
        for feature in view.features
        if not feature.internal and feature.default is not None
    }


def reading(view: View, conventions: Conventions, case: TestCase) -> str:
    """The line of a test that reads its case."""
    columns = _compared(view, case)
    schema = "" if columns == view.output else f", {_wrapped(schema_text(columns), conventions)}"
    as_of = "as_of" if any(one.meaning == "as_of" for one in signature(view, conventions, "build")) else "_"
    return f"given, expected, {as_of} = read({fixture_of(conventions)}, text{schema})"


def rows_of(view: View, case: TestCase, conventions: Conventions) -> str:
    """The lines of a test of its own that read its inputs (`given`, `as_of`) and its expected output."""
    return f"text = {case_text(view, conventions, case, '')}\n{reading(view, conventions, case)}"


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
