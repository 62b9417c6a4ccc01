"""The parts of a test file that a model need not write: it marks their places, and the harness fills them in.

Rows and schemas must be exactly those of the cases; a model that copies them pays for every one, and errs in some.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence

from palmette.features.actors.testcase_coder.offline import IMPORTS, OWN_FIXTURE, helpers, rows_of
from palmette.features.artefacts import Conventions, TestCases
from palmette.features.spec.view import View

MARK = "# ready-made: "
HELPERS = "HELPERS"
"""In capitals, as no case is called."""
_ROWS = ("given", "expected", "as_of")
"""What the rows of a case are assigned to."""
_HELPERS = ("Row", "TABLES", "OUTPUT", "at", "rows", "alike", "frame", "tables", OWN_FIXTURE)
"""What the helpers define."""
_LINE = re.compile(rf"^(?P<indent>[ \t]*){MARK}(?P<name>\w+)[ \t]*$", re.MULTILINE)


def ready_made(view: View, cases: TestCases, conventions: Conventions) -> dict[str, str]:
    """The text for each mark: the helpers with their imports, and by name of a case its rows."""
    rows = {case.name: rows_of(view, case, conventions) for case in cases.cases}
    return {**rows, HELPERS: "\n\n\n".join([IMPORTS, *helpers(view, conventions, rows.values())])}


def filled(text: str, parts: Mapping[str, str]) -> str:
    """The text with its marks replaced, each at its indentation; a mark of something unknown stays a comment.

    >>> filled("def test_a():\\n    # ready-made: a\\n", {"a": "x = 1\\ny = 2"})
    'def test_a():\\n    x = 1\\n    y = 2\\n'
    """

    def part(match: re.Match[str]) -> str:
        known = parts.get(match["name"])
        return match[0] if known is None else textwrap.indent(known, match["indent"])

    return _LINE.sub(part, text)


def marked(text: str) -> str:
    """A test file with its rows and helpers as marks again, so that a model that repairs it need not read them."""
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
    helpers = [node for node in body if _assigned(node) in _HELPERS]
    _replace(lines, helpers, f"{MARK}{HELPERS}")
    return "\n".join(lines)


def _assigned(node: ast.stmt) -> str:
    """The name that a statement defines."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return node.name if isinstance(node, ast.FunctionDef) else ""


def _replace(lines: list[str], nodes: Sequence[ast.stmt], mark: str) -> None:
    """Puts a mark in the place of statements, of which the first comes first."""
    for node in reversed(nodes):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]) - 1
        lines[first : node.end_lineno] = [mark] if node is nodes[0] else []
