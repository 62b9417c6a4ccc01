"""Scripts of random views give what the oracle gives, on rows that sit on the boundaries."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark_scripts import script
from random_views import Maker, example

from palmette.errors import InputError
from palmette.features.checks.static.check import violations
from palmette.features.harness.connect import ConnectHarness, ScriptCase
from palmette.features.oracle import differences
from palmette.features.script_tree import parse


@pytest.mark.parametrize("seeds", [(0, 1, 2, 4, 6), (3, 5, 7)], ids=["cut-offs of the spine", "one cut-off"])
def test_scripts_agree_with_the_oracle(seeds: Sequence[int], harness: ConnectHarness, tmp_path: Path) -> None:
    """In one process, which takes longer to start than one view; so all builders take the same arguments."""
    found = {tmp_path / f"script_{seed}.py": example(seed) for seed in seeds}
    cases = []
    for path, (view, frames, as_of, _) in found.items():
        path.write_text(script(view), encoding="utf-8")
        cases.append(ScriptCase(path.stem, frames, as_of, "Asia/Tokyo", script=path))
    results = harness.execute(next(iter(found)), "build", cases, root=tmp_path)
    for result, (view, _, _, wanted) in zip(results, found.values(), strict=True):
        assert result.frame is not None, (result.name, result.trace or result.error)
        assert differences(wanted, result.frame, view) == (), result.name


@pytest.mark.parametrize("seed", range(100, 112))
def test_static_rules_are_content(seed: int) -> None:
    try:
        view = Maker(seed).view()
    except InputError as error:
        pytest.skip(str(error))
    assert not [found.message for found in violations(parse(script(view), view, "build"), "script.py")]
