"""Temporary folders go with their process, also when that is killed."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from palmette.sandbox.place import Place


def test_what_a_killed_process_left_goes_when_the_next_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine, child = Place("held-"), os.fork()
    if child == 0:
        for number in range(3):
            (Place("held-").folder / f"file-{number}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (tmp_path / "held-unknown").mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "held-link").symlink_to(outside)
    for path in sorted(tmp_path.glob("held-*"))[:-1]:
        os.utime(path, (0, 0), follow_symlinks=False)
    young = {path for path in tmp_path.glob("held-*") if path.lstat().st_mtime > 1}
    with_mine = {mine.folder, tmp_path / "held-unknown", tmp_path / "held-link", *young}
    again = Place("held-")
    assert {*tmp_path.glob("held-*")} == {*with_mine, again.folder} and len(young) == 1
    again.close()
    mine.close()
    assert {*tmp_path.glob("held-*")} == with_mine - {mine.folder} and outside.is_dir()
