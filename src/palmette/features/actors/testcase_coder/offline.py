"""Writes a pytest file from test cases by rules, in the team's conventions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from palmette.features.actors.testcase_coder.literals import INDENT, instant_text, rows_text, schema_text
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import timestamp_of
from palmette.features.signature import BoundParameter, shape_of, signature
from palmette.features.spec.view import Schema, View


def file_of_tests(view: View, cases: TestCases, conventions: Conventions, module: str) -> str:
    """The unformatted source of the test file; `module` is the import name of the script."""
    entry = shape_of(conventions, "build").name
    tests = [_test(view, case, conventions) for case in cases.cases]
    return "\n\n\n".join([_head(view, module, entry, conventions), *helpers(view, conventions), *tests]) + "\n"


def _head(view: View, module: str, entry: str, conventions: Conventions) -> str:
    subject = view.description.rstrip(".") or f"The feature view {view.name}"
    doc = textwrap.fill(f"{subject}: rows in, rows out, on both sides of every boundary.", conventions.line_length - 4)
    return f'''"""{doc}"""

from __future__ import annotations

{IMPORTS}
from pyspark.testing import assertDataFrameEqual

from {module} import {conventions.owner or entry}'''


IMPORTS = """import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
    return "\n".join(["TABLES = {", *tables, "}", f"OUTPUT = {_wrapped(schema_text(view.output), conventions)}"])


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


def rows(text: str) -> list[dict[str, str]]:
    """Rows of `name=value`; those before the first dash hold for all."""
    parts = [re.split(r"  +|\\n *", part.strip(" \\n")) for part in re.split(r"(?m)^ *-(?: |$)", text)]
    usual, *own = [dict(pair.split("=", 1) for pair in part if pair) for part in parts]
    return [{**usual, **row} for row in own or [{}]]


def frame(spark: SparkSession, schema: str, rows: Sequence[Mapping[str, str]]) -> DataFrame:
    """Columns that a row leaves out are null."""
    kinds = [column.split() for column in schema.split(", ")]
    values = [[value(kind, row.get(name, "null")) for name, kind in kinds] for row in rows]
    return spark.createDataFrame(values, schema)


def tables(spark: SparkSession, text: str) -> dict[str, DataFrame]:
    """All tables of the view; those that the text leaves out are empty."""
    parts = re.split(r"(?m)^ *(\\w+):", text)
    given = dict(zip(parts[1::2], map(rows, parts[2::2]), strict=True))
    return {name: frame(spark, schema, given.get(name, ())) for name, schema in TABLES.items()}'''


def _test(view: View, case: TestCase, conventions: Conventions) -> str:
    lines = [
        _docstring(case.why, conventions),
        rows_of(view, case, conventions),
        *assertion(view, conventions, case),
    ]
    head = f"def test_{case.name}({fixture_of(conventions)}: SparkSession) -> None:"
    return "\n".join([head, textwrap.indent("\n".join(lines), "    ")])


def rows_of(view: View, case: TestCase, conventions: Conventions) -> str:
    """The lines of a test that build its inputs (`given`, `as_of`) and its expected output as data frames."""
    fixture, columns, width = fixture_of(conventions), _compared(view, case), conventions.line_length - 2 * len(INDENT)
    given = [rows_text(table_schema(view, name), rows, width, f"{name}:") for name, rows in case.given.items()]
    schema = "OUTPUT" if columns == view.output else _wrapped(schema_text(columns), conventions)
    cutoffs = [each for each in signature(view, conventions, "build") if each.meaning == "as_of"]
    output = rows_text(columns, case.expect, width)
    lines = [
        *([f"inputs = {_quoted(given)}"] if given else []),
        *([f"output = {_quoted([output])}"] if output else []),
        f"given = tables({fixture}, {'inputs' if given else repr('')})",
        f"expected = frame({fixture}, {schema}, {'rows(output)' if output else '[]'})",
        *(f"as_of = {_as_of(case.as_of, each.annotation)}" for each in cutoffs),
    ]
    return "\n".join(lines)


def _quoted(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    raw = "r" if "\\" in text else ""
    return f'{raw}"""\n{text}\n{INDENT}"""'


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


def _docstring(why: str, conventions: Conventions) -> str:
    width = conventions.line_length - 10
    text = why.replace("\\", "\\\\").replace('"""', "'''")
    if len(text) <= width:
        return f'"""{text}"""' if not text.endswith('"') else f'"""{text} """'
    first, *rest = textwrap.wrap(text, width, break_long_words=False)
    return "\n".join([f'"""{first}', *rest, '"""'])


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
        case "as_of":
            return "as_of"
        case "config":
            return "None"
        case _:
            return ""


def _as_of(text: str | None, annotation: str) -> str:
    if text is None:
        return "None"
    timestamp = timestamp_of(text)
    kind = annotation.replace(" ", "").lower()
    if kind.startswith("str"):
        return repr(timestamp.isoformat())
    is_midnight = timestamp == timestamp.replace(hour=0, minute=0, second=0, microsecond=0)
    if kind.endswith("date") and is_midnight:  # a datetime at midnight only, because it is a date, too
        return f"date({timestamp.year}, {timestamp.month}, {timestamp.day})"
    return f"at({instant_text(timestamp)!r})"
