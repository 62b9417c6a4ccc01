"""The processes below this one: finding and ending them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

_KILL_FOR = 10.0


def descendants() -> list[int]:
    """Process ids of everything below this process; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double the start-up time
            if name.isdigit() and (stat := read(f"{name}/stat")):
                children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def threads(pids: list[int]) -> int:
    """Of all these processes together."""
    count = 0
    for pid in pids:
        with suppress(OSError):  # each is a folder, and a folder has two links more than it has folders
            count += os.stat(f"/proc/{pid}/task").st_nlink - 2  # noqa: PTH116 - pathlib would double the start-up time
    return count


def read(place: str) -> bytes:
    """A file below /proc; nothing where there is none, as when a process has ended."""
    try:
        with open(f"/proc/{place}", "rb") as file:  # noqa: PTH123 - as above
            return file.read()
    except OSError:
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
