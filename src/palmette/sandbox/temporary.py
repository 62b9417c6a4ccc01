"""Temporary folders: all of a process lie in one, which goes with the process, however that ends.

The process holds it by a lock, which the kernel lets go of. What a killed one has left is taken away by the supervisors
of its programs, or by the next process that needs a temporary folder.
"""

from __future__ import annotations

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
PATIENCE = 20.0
"""Seconds that taking away one folder may take, while work is waiting."""


class _ProcessFolder(NamedTuple):
    folder: Path
    lock: int
    """Descriptor of the folder itself: what cleans up on a machine leaves such a folder alone, too."""


_places: list[_ProcessFolder] = []
_making = threading.Lock()


def new_folder(within: Path | None = None) -> Path:
    """An empty folder that stays until this process ends; `within`: in another one, with which it goes."""
    return Path(tempfile.mkdtemp(prefix="", dir=within or _place()))


@contextmanager
def temporary_folder(within: Path | None = None) -> Iterator[Path]:
    """An empty folder that is gone afterwards, whatever has come to be in it.

    Where programs go on filling it, or it is very full, the rest is taken away later, as of `new_folder`.
    """
    made = new_folder(within)
    try:
        yield made
    finally:
        remove(str(made), seconds=PATIENCE)


def clear() -> None:
    """Takes away all that this process has; at its exit that happens by itself."""
    while _places:
        place = _places.pop()
        remove(str(place.folder))
        os.close(place.lock)


def _place() -> Path:
    with _making:
        if not _places:
            _tidy()
            _places.append(_made())
        return _places[0].folder


def _made() -> _ProcessFolder:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        with suppress(FileNotFoundError):  # others took it for left behind before it was held; they are done with it
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.exists():
                return _ProcessFolder(folder, lock)
            os.close(lock)


def _tidy() -> None:
    """Removes this user's places whose processes are gone; of very full ones, what there is time for."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if path.lstat().st_uid == os.getuid():
                remove_unheld(str(path), PATIENCE)


def _begin_anew() -> None:
    """A forked process has a place of its own: the one that it knows is its parent's."""
    global _making
    _making = threading.Lock()
    _places.clear()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(clear)
