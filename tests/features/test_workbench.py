"""Copies of the team's files."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from palmette.engine.actor import Measurement, TextFile
from palmette.features.harness.connect import ConnectHarness
from palmette.features.passed import digest_of
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


def test_what_has_passed_is_kept_for_the_same_files_of_the_team(tmp_path: Path) -> None:
    shared = tmp_path / "repository" / "utils.py"
    shared.parent.mkdir()

    def find(text: str) -> Measurement | None:
        shared.write_text(text, "utf-8")
        bench = SimpleNamespace(_digest=digest_of(shared.parent), passed_folder=tmp_path / "passed")
        passed = Workbench.passed(cast(Workbench, bench), "script")
        found = passed.find("plan")
        passed.keep(Measurement(name="plan", status="passed"), "plan")
        return found

    first, again, changed = map(find, ("ZONE = 'UTC'", "ZONE = 'UTC'", "ZONE = 'Asia/Tokyo'"))
    assert again and first is None and changed is None
