"""Reads files that untrusted programs made, even while they run: regular files only, no links, limited size."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from pydantic import JsonValue

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
            raise OSError(f"{path!r} is no file")
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
