"""Temporary folders: all of a process are in one folder, which is removed with the process, however it ends.

The process holds a lock on it, which the kernel releases. Leftovers of killed processes are removed by the supervisors
of their programs, or by the next process that needs a temporary folder.
"""

import atexit
import fcntl
import os
import tempfile  # noqa: TID251 - this is what replaces it
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from palmette.sandbox.supervisor.folders import remove, remove_unheld

_PREFIX = "palmette-place-"
PATIENCE = 20.0  # maximum seconds to remove a folder while work is waiting


class _ProcessFolder(NamedTuple):
    folder: Path
    lock: int  # descriptor of the folder itself; system clean-up services also respect its lock


_places: list[_ProcessFolder] = []
_making = threading.Lock()


def new_folder(within: Path | None = None) -> Path:
    """An empty folder that exists until this process ends; `within`: created in, and removed with, another one."""
    return Path(tempfile.mkdtemp(prefix="", dir=within or _place()))


@contextmanager
def temporary_folder(within: Path | None = None) -> Iterator[Path]:
    """An empty folder that is removed afterwards with all its contents.

    If programs keep filling it, or it is very full, the rest is removed at the end of the process.
    """
    made = new_folder(within)
    try:
        yield made
    finally:
        remove(str(made), seconds=PATIENCE)


def clear() -> None:
    """Removes all temporary folders of this process; runs automatically at exit."""
    while _places:
        place = _places.pop()
        remove(str(place.folder))
        os.close(place.lock)


def _place() -> Path:
    with _making:
        if not _places:
            for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):  # leftovers of dead processes
                with suppress(OSError):
                    if path.lstat().st_uid == os.getuid():
                        remove_unheld(str(path), PATIENCE)
            _places.append(_made())
        return _places[0].folder


def _made() -> _ProcessFolder:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        with suppress(FileNotFoundError):  # another process removed it as a leftover before it was locked
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.exists():
                return _ProcessFolder(folder, lock)
            os.close(lock)


def _begin_anew() -> None:
    """A forked process needs a folder of its own; the known one is its parent's."""
    global _making
    _making = threading.Lock()
    _places.clear()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(clear)
