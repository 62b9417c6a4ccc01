"""Waits for a program: its end, its timeout, a limit, or the end of palmette."""

from __future__ import annotations

import os
import select
import signal
import time

from .disk import FILES, Disk
from .memory import MemoryUse
from .tree import descendants, reap, threads

TYPE_CHECKING = False  # the real one takes long to import
if TYPE_CHECKING:
    from typing import Any

_LOOK_EVERY = 0.25  # a look reads files of every process on the machine
THREADS = 16  # average number of threads allowed per process


def watch(program: int, spec: dict[str, Any], control: int, wake: int) -> tuple[int, str, str]:
    """The program's exit code, how it ended, and a note."""
    limits = spec["limits"]
    seconds = limits["seconds"]
    deadline = time.monotonic() + seconds if seconds else float("inf")
    memory = MemoryUse(limits["memory_mb"], spec["private"])
    disk = Disk(spec["write"], limits["disk_mb"], limits["file_mb"])
    look = time.monotonic() + _LOOK_EVERY
    while True:
        status = reap(program)
        if status is not None:
            return _ended(status, bool(spec["seccomp_option"] or spec["ending"]))
        now = time.monotonic()
        if now >= deadline:
            return _stopped("timeout", f"it ran longer than {seconds:g} s")
        if now >= look:  # even if children start and end constantly
            if note := _exceeded(limits, memory, disk):
                return _stopped("killed", note)
            look = time.monotonic() + _LOOK_EVERY
        ready = select.select([control, wake], [], [], max(0.0, min(deadline, look) - time.monotonic()))[0]
        if control in ready:
            return _stopped("killed", "it was stopped")
        if wake in ready:
            os.read(wake, 512)


def _exceeded(limits: dict[str, Any], memory: MemoryUse, disk: Disk) -> str:
    """The exceeded limit, as text; empty if none."""
    pids = descendants()
    if len(pids) > limits["processes"] + limits["spare_processes"]:
        return f"it had more than {limits['processes']} processes"
    if threads(pids) > THREADS * limits["processes"]:
        return f"it had more than {THREADS} threads to each of {limits['processes']} processes"
    if memory.is_exceeded(pids):
        return f"it used more than {limits['memory_mb']} MB of memory"
    if disk.is_exceeded(pids):
        return f"it wrote more than {disk.bound_mb} MB, or {FILES} files, to the disk"
    return ""


def _ended(status: int, by_other: bool) -> tuple[int, str, str]:
    """`by_other`: the status comes from a wrapper, which reports signal N as 128 + N, like a shell."""
    code = os.waitstatus_to_exitcode(status)
    if by_other and code - 128 in set(signal.Signals):
        code = 128 - code
    if code >= 0:
        return code, "exited", ""
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    notes = {"SIGXFSZ": "it wrote a larger file than is allowed", "SIGSYS": "it made a system call that is not allowed"}
    return code, "killed", notes.get(name, f"{name} ended it")


def _stopped(ended: str, note: str) -> tuple[int, str, str]:
    return -int(signal.SIGKILL), ended, note
