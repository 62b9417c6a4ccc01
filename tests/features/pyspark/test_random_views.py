"""Scripts of random views give what the oracle gives, on rows that sit on the boundaries."""

from pathlib import Path

import pytest
from pyspark_scripts import script
from random_views import Maker, example

from palmette.errors import InputError
from palmette.features.checks.static.check import violations
from palmette.features.harness.connect import ConnectHarness, ScriptCase
from palmette.features.oracle import NotCovered, WouldFail, differences
from palmette.features.script_tree import parse


@pytest.mark.parametrize("seed", range(8))
def test_script_agrees_with_oracle(seed: int, harness: ConnectHarness, tmp_path: Path) -> None:
    try:
        view, frames, as_of, wanted = example(seed)
    except (InputError, NotCovered, WouldFail) as error:
        pytest.skip(str(error))
    path = tmp_path / "script.py"
    path.write_text(script(view), encoding="utf-8")
    (result,) = harness.execute(path, "build", [ScriptCase(str(seed), frames, as_of, "Asia/Tokyo")], root=tmp_path)
    assert result.frame is not None, result.trace or result.error
    assert differences(wanted, result.frame, view) == ()


@pytest.mark.parametrize("seed", range(100, 112))
def test_static_rules_are_content(seed: int) -> None:
    try:
        view = Maker(seed).view()
    except InputError as error:
        pytest.skip(str(error))
    assert not [found.message for found in violations(parse(script(view), view, "build"), "script.py")]
