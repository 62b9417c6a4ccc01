"""Copies of the team's files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from palmette.engine.actor import TextFile
from palmette.features.workbench import Workbench


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
