"""Copies of the team's files."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from palmette.engine.actor import TextFile
from palmette.features.harness.connect import ConnectHarness
from palmette.features.workbench import Workbench
from palmette.sandbox import WarmSpark


def test_links_stay_links_in_a_copy(tmp_path: Path) -> None:
    """What they lead to is not copied, also where it has no end."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "round").symlink_to(".")
    (repository / "out").symlink_to("/dev/zero")
    bench = cast(Workbench, SimpleNamespace(repository=repository))
    copy = Workbench.assemble(bench, [TextFile(path="src/new.py", text="NEW = 1\n")], tmp_path / "copy")
    assert sorted(path.name for path in copy.rglob("*") if path.is_symlink()) == ["out", "round"]
    assert (copy / "src" / "new.py").read_text("utf-8") == "NEW = 1\n"


@pytest.mark.parametrize("is_offline", [True, False])
def test_only_programs_of_the_rules_share_a_server(is_offline: bool) -> None:
    spark = WarmSpark()
    bench = cast(Workbench, SimpleNamespace(spark=spark, harness=ConnectHarness(spark), is_offline=is_offline))
    with Workbench.attempt(bench) as harness:
        assert (harness.spark is spark) == is_offline
