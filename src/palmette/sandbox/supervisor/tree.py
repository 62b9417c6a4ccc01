"""The processes below this one: finding, measuring and ending them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

_KILL_FOR = 10.0
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


def descendants() -> list[int]:
    """Process ids of everything below this process; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double the start-up time
            if name.isdigit() and (stat := _read(name, "stat")):
                children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def memory_mb(pids: list[int], bound: int) -> int:
    """Memory of the processes together in MB, shared pages once; counted exactly only where it may exceed `bound`."""
    resident = sum(_resident_kb(pid) for pid in pids) >> 10
    return resident if resident <= bound else sum(_share_kb(pid) for pid in pids) >> 10


def _resident_kb(pid: int) -> int:
    fields = _read(pid, "statm").split()
    return int(fields[1]) * _PAGE_KB if fields else 0


def _share_kb(pid: int) -> int:
    """What the process has resident, shared pages divided among those who share them."""
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1])
    return _resident_kb(pid)


def _read(pid: int | str, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123 - pathlib would double the start-up time
            return file.read()
    except OSError:  # it has ended meanwhile
        return b""


def reap(program: int | None = None) -> int | None:
    """Collects all children that have ended; the program's status when it is among them."""
    found = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                found = status
    return found


def kill_tree(program: int) -> None:
    """Kills the program's session, then whatever is left below this process, until nothing is."""
    with suppress(OSError):
        os.killpg(program, signal.SIGKILL)
    until = time.monotonic() + _KILL_FOR
    while time.monotonic() < until:
        reap()
        left = descendants()
        if not left:
            return
        for sign in (signal.SIGSTOP, signal.SIGKILL):  # stopped first: a fork bomb cannot outrun the killing
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, sign)
        time.sleep(0.005)
