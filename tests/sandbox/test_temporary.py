"""Temporary folders go with their process, also when that is killed."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palmette.sandbox import temporary
from palmette.sandbox.temporary import clear, new_folder, temporary_folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders lie; this process has none yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_places", [])
    yield tmp_path
    clear()


def forked(work: Callable[[], object]) -> None:
    """In a process that is killed afterwards."""
    if not (child := os.fork()):
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_what_a_killed_process_left_goes_when_the_next_needs_one(place: Path) -> None:
    for name in ("palmette-place-of-nobody", "palmette-notes", "outside"):
        (place / name / "file").mkdir(parents=True)
    (place / "palmette-place-link").symlink_to(place / "outside")
    mine = new_folder()
    (mine / "mine").touch()
    kept = {"palmette-notes", "outside", "palmette-place-link"}
    assert {path.name for path in place.iterdir()} == {*kept, mine.parent.name}
    forked(lambda: (new_folder() / "theirs").mkdir())
    assert len(list(place.glob("palmette-place-*/*/theirs"))) == 1
    forked(new_folder)
    assert not list(place.glob("palmette-place-*/*/theirs")) and (mine / "mine").exists()
    assert (place / "outside" / "file").is_dir()
    clear()
    clear()
    assert not mine.parent.exists() and new_folder().is_dir()


def test_what_is_very_full_is_left_to_others(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "palmette-place-of-nobody" / "folder" / "file").mkdir(parents=True)
    monkeypatch.setattr(temporary, "PATIENCE", -1.0)
    with temporary_folder() as folder:
        (folder / "file").touch()
    assert (place / "palmette-place-of-nobody").exists() and (folder / "file").exists()
    clear()
    assert not folder.parent.exists()


def test_processes_that_begin_at_once_take_nothing_from_one_another(place: Path) -> None:
    code = (
        "import sys; from palmette.sandbox.temporary import new_folder\n"
        "for _ in range(2): made = new_folder(); (made / 'file').touch()\n"
        "input(); sys.exit(not made.is_dir())"
    )
    environment = {**os.environ, "TMPDIR": str(place)}
    started = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE) for _ in range(4)]
    assert [one.communicate(b"\n") and one.returncode for one in started] == [0] * 4
    assert not list(place.iterdir())


def test_a_folder_is_gone_with_all_that_came_to_be_in_it(place: Path) -> None:
    def inside() -> None:
        with temporary_folder() as folder, temporary_folder(within=folder) as inner:
            (inner / "deep").mkdir(mode=0)
            assert inner.parent == folder

    threads = [threading.Thread(target=inside) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (held,) = place.iterdir()
    assert not list(held.iterdir()) and held.stat().st_mode & 0o777 == 0o700
