"""Static rules on good and bad scripts: the first line of a case names the codes that it must raise."""

from pathlib import Path
from typing import cast

import pytest

from palmette.features.checks.base import ScriptUnderTest
from palmette.features.checks.static.check import StaticCheck, violations
from palmette.features.harness.connect import ConnectHarness
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
    assert set(StaticCheck.codes) - named == {"syntax", "missing-module"}


def test_an_import_that_would_fail_is_found_without_running_the_script(view: View, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "times.py").write_text("")
    text = "import json\nimport nowhere\nfrom lib.times import day\nfrom lib.zones import zone\ntry:\n    import fast\n"
    script = tmp_path / "script.py"
    script.write_text(f"{text}except ImportError:\n    fast = None\n")
    harness = cast(ConnectHarness, None)
    found = StaticCheck().check(ScriptUnderTest(view, script, tmp_path, "build", harness)).violations
    missing = [one.message for one in found if one.code == "missing-module"]
    assert [message.partition(" is neither")[0] for message in missing] == [
        "script.py:2: module 'nowhere'",
        "script.py:4: module 'lib.zones'",
    ]
