"""The parts of a test file that a model need not write: it says where they stand, and the harness puts them there.

Rows and schemas must be exactly those of the cases; a model that copies them pays for every one, and errs in some.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from palmette.features.actors.testcase_coder.offline import IMPORTS, helpers, rows_of
from palmette.features.artefacts import Conventions, TestCases
from palmette.features.spec.view import View

MARK = "# ready-made: "
HELPERS = "HELPERS"
"""In capitals, as no case is called."""
_LINE = re.compile(rf"^(?P<indent>[ \t]*){MARK}(?P<name>\w+)[ \t]*$", re.MULTILINE)


def ready_made(view: View, cases: TestCases, conventions: Conventions) -> dict[str, str]:
    """The text for each mark: the helpers with their imports, and by name of a case its rows."""
    rows = {case.name: rows_of(view, case, conventions) for case in cases.cases}
    return {**rows, HELPERS: "\n\n\n".join([IMPORTS, *helpers(view, conventions)])}


def filled(text: str, parts: Mapping[str, str]) -> str:
    """The text with its marks replaced, each at its indentation; a mark of something unknown stays a comment.

    >>> filled("def test_a():\\n    # ready-made: a\\n", {"a": "x = 1\\ny = 2"})
    'def test_a():\\n    x = 1\\n    y = 2\\n'
    """

    def part(match: re.Match[str]) -> str:
        known = parts.get(match["name"])
        return match[0] if known is None else textwrap.indent(known, match["indent"])

    return _LINE.sub(part, text)
