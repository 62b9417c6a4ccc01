"""Resource limits of sandboxed programs, and their results."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.documents import Model

Ended = Literal["exited", "timeout", "killed"]
MEMORY_SHARE = 0.75


class Limits(Model):
    """Limits of one program together with all processes that it starts."""

    seconds: float | None = Field(default=60, gt=0)
    """Wall-clock time; None for a server."""
    file_mb: int = Field(default=512, ge=1)
    """Size of any one file that it writes."""
    disk_mb: int = Field(default=8192, ge=1)
    """Total size of what it has written and not deleted, checked several times a second. In any case at most three
    quarters of the disk's free space at the start, and 200 000 files.
    """
    open_files: int = Field(default=1024, ge=16)
    processes: int = Field(default=128, ge=1)
    """Concurrent processes, counted several times a second; beyond it, all are killed."""
    memory_mb: int | None = Field(default=None, ge=16)
    """Memory of all processes together, measured several times a second, and a hard limit for each process. None
    for three quarters of the machine's memory.
    """
    output_chars: int = Field(default=200_000, ge=0)
    """Characters kept of each stream: the first and the last half; the rest is discarded."""

    @property
    def memory(self) -> int:
        """`memory_mb`, or its default on this machine."""
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
        return self.memory_mb or int(MEMORY_SHARE * whole)


def relative_to_root(root: Path, text: str) -> str:
    """The text with paths below `root` made relative, and without memory addresses, so that it is reproducible."""
    return re.sub(r"\bat 0x[0-9a-f]+\b", "at ...", text.replace(f"{root.resolve()}/", ""))


class ExecutionResult(Model):
    """Result of a program. Failure is a value here, never an exception."""

    exit_code: int
    """The program's exit code; minus the signal number if a signal ended it."""
    stdout: str
    stderr: str
    seconds: float
    ended: Ended
    note: str = ""
    """Why it did not exit by itself."""
    isolation: str
    """The isolation it ran under."""

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0

    @property
    def last_line(self) -> str:
        """The last line of its error output, otherwise the note."""
        return (self.stderr.strip().splitlines() or [self.note])[-1]
