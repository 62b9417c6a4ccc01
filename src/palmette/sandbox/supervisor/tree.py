"""Finds and ends the processes below this one."""

import os
import signal
import time
from contextlib import suppress

_KILL_FOR = 10.0


def descendants() -> list[int]:
    """Ids of all processes below this one; empty without /proc."""
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
    """Threads of all these processes together."""
    count = 0
    for pid in pids:
        with suppress(OSError):  # threads are folders, and a folder has two more links than subfolders
            count += os.stat(f"/proc/{pid}/task").st_nlink - 2  # noqa: PTH116 - pathlib would double the start-up time
    return count


def read(place: str) -> bytes:
    """A file below /proc; empty if it does not exist, e.g. because the process has ended."""
    try:
        with open(f"/proc/{place}", "rb") as file:  # noqa: PTH123 - as above
            return file.read()
    except OSError:
        return b""


def reap(program: int | None = None) -> int | None:
    """Collects all ended children; returns the program's status if it is among them."""
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
    """Kills the program's session, then everything below this process, until nothing is left."""
    with suppress(OSError):
        os.killpg(program, signal.SIGKILL)
    until = time.monotonic() + _KILL_FOR
    while time.monotonic() < until:
        reap()
        left = descendants()
        if not left:
            return
        for sign in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that a fork bomb cannot outrun the killing
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, sign)
        time.sleep(0.005)
