"""Measures a program's memory: its processes, in-memory folders, and kernel memory on their behalf."""

import os
from contextlib import suppress

from .tree import read

_HELD = (b"VmRSS:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
"""Of a process: resident, swapped, page tables, and huge pages."""
_SHARE = (b"Pss:", b"SwapPss:")  # the first two of these, with shared pages divided among their users


_SHARED = b"/dev/zero (deleted)"  # the kernel's name for shared anonymous memory
_NAME_KB = 2  # overhead of a file, and of each of its names


class MemoryUse:
    """A check is cheap: what processes hold, and what is in in-memory folders. If that may be too much, shared
    pages are counted once. If the machine has lost more than the program may use, memory without a process counts too:
    socket buffers, and shared memory that its processes may have released.
    """

    def __init__(self, bound_mb: int, folders: list[str]) -> None:
        """`folders`: the program's in-memory folders, by their paths inside."""
        self._bound, self._folders = bound_mb << 10, folders
        self._before, self._shared_before = _available_kb(), _shared_kb()

    def is_exceeded(self, pids: list[int]) -> bool:
        private = _private_kb(self._folders, pids) if self._folders else 0
        held = private + sum(_kb(f"{pid}/status", _HELD) for pid in pids)
        if held > self._bound:
            held = private + sum(_share_kb(pid) for pid in pids)
        if held <= self._bound < self._before - _available_kb():
            held += _sockets(pids) * _socket_kb()
            if any(line.endswith(_SHARED) for pid in pids for line in read(f"{pid}/maps").splitlines()):
                seen = private + sum(_kb(f"{pid}/smaps_rollup", (b"Pss_Shmem:",)) for pid in pids)
                held += max(0, _shared_kb() - self._shared_before - seen)
        return held > self._bound


def _private_kb(folders: list[str], pids: list[int]) -> int:
    """Content of the program's in-memory folders, seen through a process whose root differs from ours."""
    for pid in reversed(pids):
        with suppress(OSError):
            root = f"/proc/{pid}/root"
            if os.stat(root).st_dev != os.stat("/").st_dev:  # noqa: PTH116 - pathlib would double the start-up time
                return sum(_used_kb(os.statvfs(root + folder)) for folder in folders)
    return 0


def _used_kb(disk: os.statvfs_result) -> int:
    return ((disk.f_blocks - disk.f_bfree) * disk.f_frsize >> 10) + _NAME_KB * (disk.f_files - disk.f_ffree)


def _share_kb(pid: int) -> int:
    """A process's proportional share; everything it holds if the kernel does not report shares."""
    share = _kb(f"{pid}/smaps_rollup", _SHARE)
    return share + _kb(f"{pid}/status", _HELD[2:]) if share else _kb(f"{pid}/status", _HELD)


def _kb(place: str, wanted: tuple[bytes, ...]) -> int:
    """The sum of some lines of a file below /proc."""
    return sum(int(line.split()[1]) for line in read(place).splitlines() if line.startswith(wanted))


def _available_kb() -> int:
    """Memory available on the machine."""
    return _kb("meminfo", (b"MemAvailable:",))


def _sockets(pids: list[int]) -> int:
    found = set()
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    found.add(os.readlink(entry.path))  # noqa: PTH115 - pathlib would double the start-up time
    return sum(1 for name in found if name.startswith("socket:"))


def _shared_kb() -> int:
    """Shared memory and in-memory files of the whole machine."""
    return _kb("meminfo", (b"Shmem:",))


def _socket_kb() -> int:
    """Maximum memory of a socket, of kinds without a common limit; the kernel uses twice the allowed size."""
    return 2 * max(int(read(f"sys/net/core/{name}") or 0) for name in ("wmem_max", "rmem_max")) >> 10
