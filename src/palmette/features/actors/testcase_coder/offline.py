"""The offline rules of the test coder: a pytest file from cases, in the team's conventions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from palmette.features.actors.testcase_coder.literals import rows_text, schema_text
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import instant_of
from palmette.features.signature import Bound, shape_of, signature
from palmette.features.spec.view import Schema, View


def file_of_tests(view: View, cases: TestCases, conventions: Conventions, module: str) -> str:
    """The source text of the test file; `module` is the import name of the script. Not yet formatted."""
    entry = shape_of(conventions, "build").name
    tests = [_test(view, case, conventions, entry) for case in cases.cases]
    head = [_head(view, module, entry, conventions), *helpers(view, conventions, tests)]
    return "\n\n\n".join([*head, *tests]) + "\n"


def _head(view: View, module: str, entry: str, conventions: Conventions) -> str:
    subject = view.description.rstrip(".") or f"The feature view {view.name}"
    doc = textwrap.fill(f"{subject}: rows in, rows out, on both sides of every boundary.", conventions.line_length - 4)
    return f'''"""{doc}"""

from __future__ import annotations

{IMPORTS}
from pyspark.testing import assertDataFrameEqual

from {module} import {entry}'''


IMPORTS = """from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession"""
"""What the helpers and the rows take from elsewhere; the formatter drops what is not used."""


def helpers(view: View, conventions: Conventions, tests: Iterable[str]) -> list[str]:
    """The schemas of the tables and of the output, and the functions by which these tests make data frames of rows."""
    own = [] if conventions.fixture else [_FIXTURE]
    alike = [ALIKE] if any("alike(" in test for test in tests) else []
    return [f"Row = Mapping[str, Any]\n\n{_schemas(view, conventions)}", *own, _AT, *alike, _FRAMES]


def table_schema(view: View, name: str) -> Schema:
    return {column.name: column.type.parsed for column in view.tables[name].columns}


def _schemas(view: View, conventions: Conventions) -> str:
    schemas = {name: schema_text(table_schema(view, name)) for name in sorted(view.tables)}
    tables = [f"    {name!r}: {_wrapped(text, conventions)}," for name, text in schemas.items()]
    return "\n".join(["TABLES = {", *tables, "}", f"OUTPUT = {_wrapped(schema_text(view.output), conventions)}"])


def _wrapped(text: str, conventions: Conventions) -> str:
    """A long string as implicitly joined pieces."""
    lines = textwrap.wrap(text, conventions.line_length - 20, break_long_words=False)
    if len(lines) == 1:
        return repr(text)
    pieces = [repr(line + " ") for line in lines[:-1]] + [repr(lines[-1])]
    return "(\n" + "\n".join(f"    {piece}" for piece in pieces) + "\n)"


OWN_FIXTURE = "spark"
"""Name of the fixture in tests of a team that has none."""

_FIXTURE = f'''@pytest.fixture(scope="module")
def {OWN_FIXTURE}() -> Iterator[SparkSession]:
    """A local session."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    yield builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()'''

_AT = '''def at(text: str) -> datetime:
    """An instant, or a reading of the clock when it has no offset."""
    return datetime.fromisoformat(text)'''

ALIKE = '''def alike(usual: Row, *rows: Row) -> list[Row]:
    """Rows that hold what is usual, but for what each says itself."""
    return [{**usual, **row} for row in rows]'''

_FRAMES = '''def frame(spark: SparkSession, schema: str, rows: Sequence[Row]) -> DataFrame:
    """Columns that a row leaves out are null."""
    names = [column.split()[0] for column in schema.split(", ")]
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


def tables(spark: SparkSession, **rows: Sequence[Row]) -> dict[str, DataFrame]:
    """All tables that the view reads; those without rows are empty."""
    return {name: frame(spark, schema, rows.get(name, ())) for name, schema in TABLES.items()}'''


def _test(view: View, case: TestCase, conventions: Conventions, entry: str) -> str:
    fixture = conventions.fixture or OWN_FIXTURE
    bound = signature(view, conventions, "build")
    names = ", ".join(filter(None, (_argument(view, case, each, fixture) for each in bound)))
    schema, columns = _schema(view, case, conventions), _compared(view, case)
    lines = [
        _docstring(case.why, conventions),
        _given(view, case, fixture),
        f"expected = {rows_text(columns, case.expect)}",
        f"actual = {entry}({names})" + ("" if schema == "OUTPUT" else f".select({', '.join(map(repr, columns))})"),
        f"assertDataFrameEqual(actual, frame({fixture}, {schema}, expected))",
    ]
    head = f"def test_{case.name}({fixture}: SparkSession) -> None:"
    return "\n".join([head, textwrap.indent("\n".join(lines), "    ")])


def _given(view: View, case: TestCase, fixture: str) -> str:
    given = [f"{name}={rows_text(table_schema(view, name), rows)}," for name, rows in case.given.items()]
    return "\n".join(["given = tables(", f"{fixture},", *given, ")"])


def rows_of(view: View, case: TestCase, conventions: Conventions) -> str:
    """The lines of a test that say what is given (`given`, `as_of`) and what must come out, as data frames."""
    fixture = conventions.fixture or OWN_FIXTURE
    expected = rows_text(_compared(view, case), case.expect)
    cutoffs = [each for each in signature(view, conventions, "build") if each.meaning == "as_of"]
    lines = [
        _given(view, case, fixture),
        f"expected = frame({fixture}, {_schema(view, case, conventions)}, {expected})",
        *(f"as_of = {_argument(view, case, each, fixture)}" for each in cutoffs),
    ]
    return "\n".join(lines)


def arguments(view: View, conventions: Conventions) -> str:
    """How a test calls the function under test, with the names that `rows_of` gives."""
    fixture = conventions.fixture or OWN_FIXTURE
    anything = TestCase(name="any", why="", as_of=None, given={}, expect=())
    bound = signature(view, conventions, "build")
    named = ("as_of" if each.meaning == "as_of" else _argument(view, anything, each, fixture) for each in bound)
    return ", ".join(filter(None, named))


def _docstring(why: str, conventions: Conventions) -> str:
    width = conventions.line_length - 10
    text = why.replace("\\", "\\\\").replace('"""', "'''")
    if len(text) <= width:
        return f'"""{text}"""' if not text.endswith('"') else f'"""{text} """'
    first, *rest = textwrap.wrap(text, width, break_long_words=False)
    return "\n".join([f'"""{first}', *rest, '"""'])


def _schema(view: View, case: TestCase, conventions: Conventions) -> str:
    """What the expected rows are made with, as code."""
    columns = _compared(view, case)
    return "OUTPUT" if list(columns) == list(view.output) else _wrapped(schema_text(columns), conventions)


def _compared(view: View, case: TestCase) -> Schema:
    """Columns of the output that the case names."""
    if not case.expect:
        return view.output
    return {name: kind for name, kind in view.output.items() if any(name in row for row in case.expect)}


def _argument(view: View, case: TestCase, bound: Bound, fixture: str) -> str:
    match bound.meaning:
        case "spark":
            return fixture
        case "tables":
            return "given"
        case "table" if bound.table:
            return f'given["{bound.table}"]'
        case "table" | "frame" if len(view.tables) == 1:
            return f'given["{next(iter(view.tables))}"]'
        case "as_of" if case.as_of is not None:
            return _as_of(case.as_of, bound.annotation)
        case "as_of" | "config":
            return "None"
        case _:
            return ""


def _as_of(text: str, annotation: str) -> str:
    instant = instant_of(text)
    kind = annotation.replace(" ", "").lower()
    if kind.startswith("str"):
        return repr(instant.isoformat())
    if kind.endswith("date") and "datetime" not in kind.split(".")[-1]:
        return f"date({instant.year}, {instant.month}, {instant.day})"
    return f"at({instant.isoformat(sep=' ')!r})"
