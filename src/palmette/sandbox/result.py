"""How much a sandboxed program may use, and what came of it."""

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
    """Bounds of one program, with all the processes that it starts."""

    seconds: float | None = Field(default=60, gt=0)
    """Wall time; None for a server."""
    file_mb: int = Field(default=512, ge=1)
    """Size of any one file that it writes."""
    disk_mb: int = Field(default=8192, ge=1)
    """What it writes altogether and has not deleted; looked at several times a second. In any case no more than three
    quarters of the room that the disk has when it starts, and no more than 200 000 files."""
    open_files: int = Field(default=1024, ge=16)
    processes: int = Field(default=128, ge=1)
    """Processes alive at once, counted several times a second; above it, all are killed."""
    memory_mb: int | None = Field(default=None, ge=16)
    """Memory of all processes together, measured several times a second; no single one can get more at any time. None
    for three quarters of what this machine has."""
    output_chars: int = Field(default=200_000, ge=0)
    """Kept of each stream: the first and the last half; the rest is read and dropped."""

    @property
    def memory(self) -> int:
        """`memory_mb`, or what stands for it on this machine."""
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
        return self.memory_mb or int(MEMORY_SHARE * whole)


def relative_to_root(root: Path, text: str) -> str:
    """The text with paths below `root` relative to it, and without addresses: both differ from run to run."""
    return re.sub(r"\bat 0x[0-9a-f]+\b", "at ...", text.replace(f"{root.resolve()}/", ""))


class ExecutionResult(Model):
    """How a program ended. Failure is a value here, never an exception."""

    exit_code: int
    """As the program gave it; minus the signal's number when a signal ended it."""
    stdout: str
    stderr: str
    seconds: float
    ended: Ended
    note: str = ""
    """Why it did not exit by itself, in words."""
    isolation: str
    """Name of the isolation that it ran under."""

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0

    @property
    def last_line(self) -> str:
        """The last line of errors that it printed, else the note."""
        return (self.stderr.strip().splitlines() or [self.note])[-1]
