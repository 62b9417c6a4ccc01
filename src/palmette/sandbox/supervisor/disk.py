"""Measures how much a program has written: counts files once the free space of a disk has dropped suspiciously."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from .tree import read

TYPE_CHECKING = False  # the real one takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator

_INODE = 4096  # minimum bytes per file
FILES = 200_000  # limit on the number of files: reading and removing each takes time
_PATIENCE = 4  # pause between counts, as a multiple of a count's duration
_SHARE = 0.75  # share of a disk's free space that a program may use, whatever its limit
_LONGEST = 3000  # maximum length of a path; longer ones could hide files


class _TooDeepError(Exception):
    """Something is too deep to be counted."""


class Disk:
    """Counts what is written to folders from now on, including deleted files that are still open.

    A check is cheap: the free space of the folders' disks. Only if more is gone than the program may write are files
    counted, because others may have written: those changed since then, by the time stamp that cannot be set. Files
    hidden below very many folders count as exceeding the limit; deleted files that cannot be inspected count with the
    maximum size. If a limit consists of many files, each counts at least its share.
    """

    def __init__(self, folders: list[str], bound_mb: int, file_mb: int) -> None:
        self._folders, self._largest = folders, file_mb << 20
        self._since = time.time_ns() - 1_000_000_000
        self._before = {folder: free for folder in folders if (free := _free(folder))}
        self._bound = min([bound_mb << 20, *(int(_SHARE * room) for room, _ in self._before.values())])
        self._least = max(_INODE, self._bound // FILES)
        self._suspicious = self._bound
        self._wait_until = 0.0

    @property
    def bound_mb(self) -> int:
        return self._bound >> 20

    def is_exceeded(self, pids: list[int]) -> bool:
        lost = self._lost()
        if lost <= self._suspicious or time.monotonic() < self._wait_until:
            return False
        started = time.monotonic()
        try:
            written = sum(max(self._least, stat.st_blocks * 512) for stat in self._changed(pids))
            written += min(max(0, lost - written), self._hidden(pids))
        except _TooDeepError:
            return True
        self._suspicious = max(self._bound, lost + self._bound - written)  # until then it is within the limit
        self._wait_until = time.monotonic() + _PATIENCE * (time.monotonic() - started)
        return written > self._bound

    def _lost(self) -> int:
        """The largest drop of free space of any of the disks; others may free space meanwhile."""
        lost = 0
        for folder, (room, files) in self._before.items():
            if now := _free(folder):
                most_room, most_files = self._before[folder] = max(room, now[0]), max(files, now[1])
                lost = max(lost, most_room - now[0] + self._least * (most_files - now[1]))
        return lost

    def _changed(self, pids: list[int]) -> Iterator[os.stat_result]:
        seen: set[tuple[int, int]] = set()
        for stat in (*_files(self._folders), *_deleted(pids)):
            if stat.st_ctime_ns >= self._since and (stat.st_dev, stat.st_ino) not in seen:
                seen.add((stat.st_dev, stat.st_ino))
                yield stat

    def _hidden(self, pids: list[int]) -> int:
        """The maximum size of deleted files that processes only map or send to one another."""
        devices, found = set(), set()
        for folder in self._folders:
            with suppress(OSError):
                devices.add(os.stat(folder).st_dev)  # noqa: PTH116 - pathlib would double the start-up time
        for pid in pids:
            for line in read(f"{pid}/maps").splitlines():
                if line.endswith(b" (deleted)"):
                    device, inode = line.split()[3:5]
                    major, _, minor = device.partition(b":")
                    found.add((os.makedev(int(major, 16), int(minor, 16)), inode))
        if any(_on_their_way(pid) for pid in pids):
            return sys.maxsize
        return self._largest * sum(1 for device, _ in found if device in devices)


def _free(folder: str) -> tuple[int, int] | None:
    """Free bytes and inodes of a folder's disk."""
    with suppress(OSError):
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize, found.f_ffree
    return None


def _files(folders: list[str]) -> Iterator[os.stat_result]:
    todo = list(folders)
    while todo:
        folder = todo.pop()
        if len(folder) > _LONGEST:
            raise _TooDeepError
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)


def _deleted(pids: list[int]) -> Iterator[os.stat_result]:
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    stat = os.stat(entry.path)  # noqa: PTH116 - pathlib would double the start-up time
                    if stat.st_nlink == 0:
                        yield stat


def _on_their_way(pid: int) -> bool:
    """Whether a process has file descriptors in unread messages."""
    with suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):  # noqa: PTH208 - pathlib would double the start-up time
            for line in read(f"{pid}/fdinfo/{fd}").splitlines():
                if line.startswith(b"scm_fds:") and int(line.split()[1]):
                    return True
    return False
