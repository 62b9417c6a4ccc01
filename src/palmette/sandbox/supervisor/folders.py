"""Removes what a program may have created: very deep, very full, unreadable or changing folders.

Everything is accessed by its parent's descriptor, and no link is followed, so that no one can swap a
folder for a link.
"""

import fcntl
import os
import time
from contextlib import suppress

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_POINT_AT = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW


def remove(folder: str, at: int | None = None, seconds: float = float("inf")) -> None:
    """Removes a folder (in the one with the descriptor `at`) with its contents, as far as permissions allow.

    Deep contents are moved to the top first, so that paths stay short without recursion. `seconds` limits the time,
    because another process may still be filling it.
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
    """Removes a folder unless a process still holds it by its lock."""
    with suppress(OSError):
        held = os.open(folder, _OPEN)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder, seconds=seconds)
        finally:
            os.close(held)


def set_mode(name: str, mode: int, at: int | None) -> None:
    """Sets the mode of a file or folder, even without permission to open it; OSError for a link."""
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
                        os.close(_opened(inner, folder))  # it must be writable to be moved
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
    """Names of the non-empty folders in a folder, after everything else in it is removed."""
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
