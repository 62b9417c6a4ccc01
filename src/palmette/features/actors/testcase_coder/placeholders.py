"""Placeholders for the parts of a test file that the harness fills in and a model need not write.

Rows and schemas must match the cases exactly; a model that copies them costs tokens and makes mistakes.
"""

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence

from palmette.features.actors.testcase_coder.offline import PytestWriter
from palmette.features.artefacts import Conventions, TestCases
from palmette.features.spec.view import View

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
    if "utc" in names and "frames" in names:  # the first and the last name that the helpers define
        _replace(lines, body[names.index("utc") : names.index("frames") + 1], f"{MARK}{HELPERS}")
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
