"""Removes what endangers readers of a program's files: links out of its folders, pipes, devices, overly deep folders.
Set-user-ID and set-group-ID bits are cleared.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from palmette.sandbox.supervisor.folders import remove, set_mode

_CLOCK = 2.0  # seconds by which file times may lag behind the clock
_LEVELS, _CHARS = 100, 2000
"""Maximum depth and path length below a program's folder; Python and the kernel have similar limits."""
_OF_THE_OWNER = stat.S_ISUID | stat.S_ISGID


class _Entry(NamedTuple):
    folder: str
    at: int  # descriptor of the folder, which others may be changing
    name: str
    is_deep: bool


def swept(folders: Iterable[Path], since: float, seconds: float = float("inf")) -> str:
    """Removes such entries that appeared in the folders since a time, and returns a description; empty if none.

    TimeoutError if it takes longer than `seconds`: a program may still be filling the folders.
    """
    folders = [folder.resolve() for folder in folders]
    removed, lowered = list[str](), list[str]()
    until = time.monotonic() + seconds
    for entry in _entries(folders):
        if time.monotonic() > until:
            raise TimeoutError("it left more in its folders than can be looked through")
        with suppress(OSError):
            found = os.stat(entry.name, dir_fd=entry.at, follow_symlinks=False)
            if found.st_ctime < since - _CLOCK:
                continue
            if stat.S_ISDIR(found.st_mode):
                if entry.is_deep:
                    remove(entry.name, entry.at, until - time.monotonic())
                    removed.append(entry.name)
            elif stat.S_ISREG(found.st_mode):
                if found.st_mode & _OF_THE_OWNER:
                    set_mode(entry.name, stat.S_IMODE(found.st_mode) & ~_OF_THE_OWNER, entry.at)
                    lowered.append(entry.name)
            elif not stat.S_ISLNK(found.st_mode) or _leads_out(f"{entry.folder}/{entry.name}", folders):
                os.unlink(entry.name, dir_fd=entry.at)
                removed.append(entry.name)
    notes = {
        "it left what is no file, lies too deep, or leads out of its folders: {}; removed": removed,
        "it left files that run with the rights of their owner: {}; they do no more": lowered,
    }
    return "; ".join(note.format(_named(names)) for note, names in notes.items() if names)


def _named(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _leads_out(link: str, folders: list[Path]) -> bool:
    target = Path(os.path.realpath(link))  # unlike resolve, tolerates link loops
    return not any(target.is_relative_to(folder) for folder in folders)


def _entries(folders: Iterable[Path]) -> Iterator[_Entry]:
    """All entries of the folders, up to the maximum depth."""
    for top in map(str, folders):
        with suppress(OSError):  # it does not exist
            for folder, names, others, at in os.fwalk(top):
                below = folder[len(top) :]
                is_deep = below.count(os.sep) >= _LEVELS or len(below) >= _CHARS
                for name in (*names, *others):
                    yield _Entry(folder, at, name, is_deep)
                if is_deep:
                    names.clear()
