"""How much memory a program uses: its processes, folders that are memory, and the kernel for them."""

from __future__ import annotations

import os
from contextlib import suppress

from .tree import read

_HELD = (b"VmRSS:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
"""Of a process: in memory, on a swap device, the tables that say where, and large pages set apart for that."""
_SHARE = (b"Pss:", b"SwapPss:")
"""The first two of these, where pages are divided among those who share them."""


_SHARED = b"/dev/zero (deleted)"
"""How the kernel names such memory."""
_NAME_KB = 2
"""What a file takes beside its content, and each of its names."""


class Memory:
    """Looking is cheap: what processes hold, and what is in folders that are memory. Where that may be too much, shared
    pages are counted once; and where the machine has lost more than the program may have, what seems to belong to no
    process counts, too: what its sockets can hold, and memory that its processes share and may have let go of."""

    def __init__(self, bound_mb: int, folders: list[str]) -> None:
        """`folders`: those that are memory, as the program names them."""
        self._bound, self._folders = bound_mb << 10, folders
        self._before, self._shared_before = _available_kb(), _shared_kb()

    def is_exceeded(self, pids: list[int]) -> bool:
        private = _private_kb(self._folders, pids) if self._folders else 0
        held = private + sum(_kb(f"{pid}/status", _HELD) for pid in pids)
        if held > self._bound:
            held = private + sum(_share_kb(pid) for pid in pids)
        if held <= self._bound < self._before - _available_kb():
            held += _sockets(pids) * _socket_kb()
            if _shares(pids):
                seen = private + sum(_kb(f"{pid}/smaps_rollup", (b"Pss_Shmem:",)) for pid in pids)
                held += max(0, _shared_kb() - self._shared_before - seen)
        return held > self._bound


def _private_kb(folders: list[str], pids: list[int]) -> int:
    """What is in folders of the program: of one of its processes that no longer has our own root."""
    for pid in reversed(pids):
        with suppress(OSError):
            root = f"/proc/{pid}/root"
            if os.stat(root).st_dev != os.stat("/").st_dev:  # noqa: PTH116 - pathlib would double the start-up time
                return sum(_used_kb(os.statvfs(root + folder)) for folder in folders)
    return 0


def _used_kb(disk: os.statvfs_result) -> int:
    return ((disk.f_blocks - disk.f_bfree) * disk.f_frsize >> 10) + _NAME_KB * (disk.f_files - disk.f_ffree)


def _share_kb(pid: int) -> int:
    """Of what a process holds; all of it where the kernel does not report shares."""
    share = _kb(f"{pid}/smaps_rollup", _SHARE)
    return share + _kb(f"{pid}/status", _HELD[2:]) if share else _kb(f"{pid}/status", _HELD)


def _kb(place: str, wanted: tuple[bytes, ...]) -> int:
    """The sum of some lines of a file below /proc."""
    return sum(int(line.split()[1]) for line in read(place).splitlines() if line.startswith(wanted))


def _available_kb() -> int:
    """What the machine could still give."""
    return _kb("meminfo", (b"MemAvailable:",))


def _sockets(pids: list[int]) -> int:
    found = set()
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    found.add(os.readlink(entry.path))  # noqa: PTH115 - pathlib would double the start-up time
    return sum(1 for name in found if name.startswith("socket:"))


def _shares(pids: list[int]) -> bool:
    """Whether a process maps memory, even a page of it, that processes can share and that is no file."""
    return any(line.endswith(_SHARED) for pid in pids for line in read(f"{pid}/maps").splitlines())


def _shared_kb() -> int:
    """What the whole machine has in such memory, and in folders that are memory."""
    return _kb("meminfo", (b"Shmem:",))


def _socket_kb() -> int:
    """The most that one holds of the kinds that have no bound together; the kernel takes twice what it allows."""
    return 2 * max(int(read(f"sys/net/core/{name}") or 0) for name in ("wmem_max", "rmem_max")) >> 10
