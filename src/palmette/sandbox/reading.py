"""Reads files that untrusted programs made, even while they run: regular files only, no links, limited size.

`swept` removes what endangers other readers: links out of the programs' folders, pipes, devices, overly deep folders.
"""

import json
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from pydantic import JsonValue

from palmette.sandbox.supervisor.folders import remove, set_mode

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LEAST, _LEVELS = 4096, 100  # minimum bytes counted per entry of a folder, and maximum depth
MOST = 1 << 30  # default limit of a file's bytes


def read_made(folder: Path, path: str, most: int = MOST) -> bytes:
    """A file below a folder that untrusted programs may be changing.

    OSError if it does not exist, is not a regular file, lies behind a link or exceeds `most` bytes.
    """
    with _opened(folder, path) as fd:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path!r} is not a file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            content = file.read(most + 1) if found.st_size <= most else b""
    if max(found.st_size, len(content)) > most:  # it may grow
        raise OSError(f"{path!r} is larger than {most} bytes")
    return content


def read_json(folder: Path, path: str, most: int = MOST) -> JsonValue:
    """The same parsed as JSON; ValueError if invalid."""
    try:
        value: JsonValue = json.loads(read_made(folder, path, most))
    except RecursionError:
        raise ValueError(f"{path!r} is nested too deeply") from None
    return value


def copy_made(folder: Path, into: Path, most: int = MOST) -> None:
    """Copies a folder's regular files so that they can no longer change; skips links and everything behind them.

    Does nothing if the folder does not exist. OSError if the files exceed `most` bytes in total, each entry
    counting at least its minimum size on disk, or are too deep.
    """
    if not folder.is_dir():
        return
    for root, _, names, at in os.fwalk(folder):
        below = PurePath(root).relative_to(folder)
        if len(below.parts) > _LEVELS:
            raise OSError(f"{folder.name!r} has more folders in one another than are read")
        place = into / below
        place.mkdir(parents=True, exist_ok=True)
        most -= _LEAST
        for name in names:
            most -= max(_LEAST, _copied(name, at, place / name, most))
            if most < 0:
                break
        if most < 0:
            raise OSError(f"{folder.name!r} has more in it than is read")


def _copied(name: str, at: int, target: Path, most: int) -> int:
    """Copies one file and returns its size in bytes."""
    try:
        fd = os.open(name, _OPEN, dir_fd=at)
    except OSError:  # a link, or deleted
        return 0
    with os.fdopen(fd, "rb") as source:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return 0
        with target.open("wb") as file:
            copied = 0
            while chunk := source.read(1 << 20):
                if copied + len(chunk) > most:
                    raise OSError(f"{name!r} is larger than is read")
                copied += file.write(chunk)
    return copied


@contextmanager
def _opened(folder: Path, path: str) -> Iterator[int]:
    """A descriptor of a file, opened folder by folder so that no component can be a link."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in PurePath(path).parts:
            below = os.open(name, _OPEN, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


_CLOCK = 2.0  # seconds by which file times may lag behind the clock
_DEPTH, _CHARS = 100, 2000
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
        "it left what is not a file, lies too deep, or leads out of its folders: {}; removed": removed,
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
                is_deep = below.count(os.sep) >= _DEPTH or len(below) >= _CHARS
                for name in (*names, *others):
                    yield _Entry(folder, at, name, is_deep)
                if is_deep:
                    names.clear()
