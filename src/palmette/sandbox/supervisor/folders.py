"""Taking away what a program may have made as it pleased: very deep, very full, without rights, changing all the time.

Everything is reached by the descriptor of the folder that it is in, and no link is followed: nobody can exchange a
folder for a link on the way.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_POINT_AT = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW


def remove(folder: str, at: int | None = None, seconds: float = float("inf")) -> None:
    """Removes a folder (in the one with the descriptor `at`) with all that is in it, as far as that is permitted.

    What lies deep is raised to its top first, so that no path is long and nothing recurs. `seconds`: how long it may
    take, where somebody may still be filling it.
    """
    until = time.monotonic() + seconds
    with suppress(OSError):
        top = _opened(folder, at)
        try:
            _clear(top, until)
        finally:
            os.close(top)
        os.rmdir(folder, dir_fd=at)


def remove_unheld(folder: str, seconds: float = float("inf")) -> None:
    """Removes a folder of whose processes none is left: while there is one, it holds a lock on the folder."""
    with suppress(OSError):
        held = os.open(folder, _OPEN)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder, seconds=seconds)
        finally:
            os.close(held)


def set_mode(name: str, mode: int, at: int | None) -> None:
    """Of a file or folder, also where it may not be opened; of a link it is an OSError."""
    found = os.open(name, _POINT_AT, dir_fd=at)
    try:
        os.chmod(f"/proc/self/fd/{found}", mode)  # noqa: PTH101 - as above
    finally:
        os.close(found)


def _clear(top: int, until: float) -> None:
    mark, count = os.urandom(8).hex(), 0
    found = _folders_once_alone(top, until)
    while found:
        raised = []
        for name in found:
            if time.monotonic() > until:
                return
            with suppress(OSError):
                folder = _opened(name, top)
                try:
                    for inner in _folders_once_alone(folder, until):
                        if time.monotonic() > until:
                            return
                        os.close(_opened(inner, folder))  # it must be writable to get another parent
                        os.rename(inner, f"{mark}-{count}", src_dir_fd=folder, dst_dir_fd=top)
                        raised.append(f"{mark}-{count}")
                        count += 1
                finally:
                    os.close(folder)
                os.rmdir(name, dir_fd=top)
        found = raised


def _opened(folder: str, at: int | None) -> int:
    with suppress(OSError):
        set_mode(folder, 0o700, at)
    return os.open(folder, _OPEN, dir_fd=at)


def _folders_once_alone(folder: int, until: float) -> list[str]:
    """Names of the folders in one that are not empty, after everything else in it is gone."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.monotonic() > until:
                break
            try:
                if entry.is_dir(follow_symlinks=False):
                    os.rmdir(entry.name, dir_fd=folder)
                else:
                    os.unlink(entry.name, dir_fd=folder)
            except OSError:
                if entry.is_dir(follow_symlinks=False):
                    found.append(entry.name)
    return found
