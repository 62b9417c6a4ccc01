"""Static rules on good and bad scripts: the first line of a case names the codes that it must raise."""

from __future__ import annotations

from pathlib import Path

import pytest

from palmette.features.checks.static.check import StaticCheck, violations
from palmette.features.script_tree import parse
from palmette.features.spec.view import View

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_script_raises_exactly_the_codes_that_it_names(case: Path, view: View) -> None:
    text = case.read_text(encoding="utf-8")
    wanted = {code.strip() for code in text.splitlines()[0].removeprefix("# expect:").split(",") if code.strip()}
    found = list(violations(parse(text, view, "build"), case.name))
    assert {violation.code for violation in found} == wanted, [violation.message for violation in found]


def test_every_code_that_a_rule_can_raise_has_a_bad_case() -> None:
    named = {
        code.strip()
        for case in CASES
        for code in case.read_text(encoding="utf-8").splitlines()[0].removeprefix("# expect:").split(",")
    }
    assert set(StaticCheck.codes) - named == {"syntax"}
