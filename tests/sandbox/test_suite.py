"""What is not a line of the plugin is no outcome."""

from __future__ import annotations

import pytest

from palmette.sandbox.suite import _parsed


@pytest.mark.parametrize(
    "text",
    ["", "1", "[]", "{}", '{"test": "a"}', '{"line": "x"}', '{"line": 1, "test": ["a"]}', "[" * 9999],
)
def test_lines_of_others_are_passed_over(text: str) -> None:
    assert _parsed(text) is None


def test_a_line_of_the_plugin_is_read() -> None:
    told = _parsed(' {"test": "a", "outcome": "failed", "said": "no", "line": 2}')
    assert told and (told.line, told.test, told.outcome, told.said, told.end) == (2, "a", "failed", "no", False)
