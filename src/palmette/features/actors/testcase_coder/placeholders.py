"""Placeholders for the parts of a test file that the harness fills in and a model need not write.

Rows and schemas must match the cases exactly; a model that copies them costs tokens and makes mistakes.
"""

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palmette.features.actors.testcase_coder.offline import PytestWriter, inputs_of, table_schema
from palmette.features.artefacts import Conventions, TestCase, TestCases
from palmette.features.frame_json import decode_row, timestamp_of
from palmette.features.pyspark.code import rendered
from palmette.features.signature import shape_of, signature
from palmette.features.spec.view import View, ddl

MARK = "# ready-made: "
HELPERS = "HELPERS"
"""In uppercase, so that it differs from every case name."""
_ROWS = ("as_of", "given", "expected")
"""The names that the rows of a case are assigned to."""
_LINE = re.compile(rf"^(?P<indent>[ \t]*){MARK}(?P<name>\w+)[ \t]*$", re.MULTILINE)


def ready_made(view: View, cases: TestCases, conventions: Conventions) -> dict[str, str]:
    """The text for each placeholder: the helpers with their imports, and the rows by case name."""
    writer = PytestWriter(view, conventions, cases)
    return {**{case.name: writer.rows(case) for case in cases.cases}, HELPERS: writer.helpers()}


def filled(text: str, parts: Mapping[str, str]) -> str:
    """The text with placeholders replaced, each at its indentation; unknown placeholders stay comments.

    >>> filled("def test_a():\\n    # ready-made: a\\n", {"a": "x = 1\\ny = 2"})
    'def test_a():\\n    x = 1\\n    y = 2\\n'
    """

    def part(match: re.Match[str]) -> str:
        known = parts.get(match["name"])
        return match[0] if known is None else textwrap.indent(known, match["indent"])

    return _LINE.sub(part, text)


def marked(text: str) -> str:
    """Replaces the rows and helpers of a test file by placeholders again, which shortens the prompt of a repair."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return text
    lines = text.splitlines()
    for node in reversed(body):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            rows = [one for one in node.body if isinstance(one, ast.Assign) and _assigned(one) in _ROWS]
            _replace(lines, rows, f"    {MARK}{node.name.removeprefix('test_')}")
    # Helpers stand above the tests, so that their lines are still where they were.
    names = [_assigned(node) for node in body]
    if "utc" in names and "expect" in names:  # the first and the last name that the helpers define
        _replace(lines, body[names.index("utc") : names.index("expect") + 1], f"{MARK}{HELPERS}")
    return "\n".join(lines)


def _assigned(node: ast.stmt) -> str:
    """The first name that a statement defines."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    target = target.elts[0] if isinstance(target, ast.Tuple) else target
    if isinstance(target, ast.Name):
        return target.id
    return node.name if isinstance(node, ast.FunctionDef) else ""


def _replace(lines: list[str], nodes: Sequence[ast.stmt], mark: str) -> None:
    """Replaces consecutive statements by a placeholder."""
    for node in reversed(nodes):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]) - 1
        lines[first : node.end_lineno] = [mark] if node is nodes[0] else []


_TEMPLATE = Path(__file__).with_name("stub_script.py.j2")


def stand_in(view: View, cases: TestCases, conventions: Conventions, *, lies: bool = False) -> str:
    """The source of a module that returns the expected rows, so that tests can run before the script exists.

    It looks the rows up by its input rows and computes no features. With `lies`, it returns no rows for cases that
    expect some, and one row for cases that expect none; a test that passes with it verifies nothing.
    """
    shape = shape_of(conventions, "build")
    bound = signature(view, conventions, "build")
    parameters = ", ".join(f"{each.name}=None" for each in bound)
    tables = [f"{each.table!r}: {each.name}" for each in bound if each.meaning == "table" and each.table]
    whole = next((each.name for each in bound if each.meaning == "tables"), "")
    if not whole and not tables:
        single = next((each.name for each in bound if each.meaning in ("frame", "table")), "None")
        tables = [f"{next(iter(view.tables))!r}: {single}"]
    frames = whole or "{" + ", ".join(tables) + "}"
    as_of = next((each.name for each in bound if each.meaning == "as_of"), "None")
    known = []
    for case in cases.cases:
        rows = [{}] * (not case.expect) if lies else _completed(view, case, cases)
        known.append(_case_literal(view, inputs_of(view, case), rows, case.as_of))
    return rendered(
        _TEMPLATE,
        output=repr(ddl(view.output)),
        cases=known,
        owner=conventions.owner,
        name=shape.name,
        parameters=parameters,
        frames=frames,
        as_of=as_of,
        others=[
            *(each.name for each in conventions.functions if each.name != shape.name),
            *(each.name for each in view.features if conventions.feature_functions),
        ],
    )


def _completed(view: View, case: TestCase, cases: TestCases) -> list[dict[str, Any]]:
    """The rows that all cases with the same input expect, with their columns combined."""
    same = [other for other in cases.cases if (other.given, other.as_of) == (case.given, case.as_of)]
    rows: list[dict[str, Any]] = []
    for other in sorted(same, key=lambda one: one.partial):
        free = list(rows)
        for row in other.expect:
            mine = next((each for each in free if all(each.get(k) == row[k] for k in view.identity if k in row)), None)
            if mine is None:
                rows.append(dict(row))
            else:
                free.remove(mine)
                mine |= row
    return rows


def _case_literal(view: View, given: dict[str, Any], expect: list[dict[str, Any]], as_of: str | None) -> str:
    schemas = {name: table_schema(view, name) for name in given}
    tables = {name: [dict(decode_row(schemas[name], row)) for row in rows] for name, rows in given.items()}
    rows = [dict(decode_row(view.output, row)) for row in expect]
    return repr({"given": tables, "expect": rows, "as_of": timestamp_of(as_of) if as_of else None})
