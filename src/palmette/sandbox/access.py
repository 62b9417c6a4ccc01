"""What a sandboxed program may use (parts of the machine and resources, stated for each program), and its result."""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.documents import Model

Ended = Literal["exited", "timeout", "killed"]
MEMORY_SHARE = 0.75


class Access(Model):
    """What a program may use in addition to system programs, this interpreter, Java and its private folder.

    Paths that do not exist are ignored.
    """

    read: tuple[Path, ...] = ()
    """Files, and folders with everything below them."""
    write: tuple[Path, ...] = ()
    """The same, readable and writable."""
    network: Literal["own", "machine"] = "own"
    """`own`: a loopback network shared with the other programs of the sandbox, and nothing else. `machine`: that of the
    machine.
    """
    shared: bool = False
    """Whether others also use its writable folders; then it may not change modes, times or attributes of files."""
    ports: tuple[int, ...] = Field(default=())
    """TCP ports that it may connect to if the kernel cannot give it a network of its own; the limit applies to ports on
    any machine.
    """
    gpu: bool = False
    """Whether it may use NVIDIA GPUs, if the machine has any."""


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


def error_line(text: str) -> str:
    """The first line of the last traceback's message, which may have several; without a traceback the last line."""
    lines = text.rstrip().splitlines()
    frame = max((number for number, line in enumerate(lines) if line.startswith('  File "')), default=len(lines))
    return next((line for line in lines[frame:] if line[:1].strip()), lines[-1].strip() if lines else "")


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
    def error_line(self) -> str:
        """The line of its error output that says what went wrong, otherwise the note."""
        return error_line(self.stderr) or self.note


class Paths:
    """A minimal set of folders and files, without those inside others; links are included with their targets."""

    def __init__(self, access: Access, cwd: Path, env: Mapping[str, str], scratch: Path) -> None:
        self.write = _topmost([*access.write, scratch])
        java = [Path(home) for home in (env.get("JAVA_HOME"),) if home]
        given = [*map(Path, SYSTEM), *interpreter(), *java, *access.read, cwd]
        self.read = [path for path in _topmost(given) if not _is_below(path, self.write)]
        self.devices = gpu_devices() if access.gpu else []

    def mounts(self) -> list[tuple[Path, bool]]:
        """Every path and whether it is writable; parents first."""
        every = [*((path, False) for path in self.read), *((path, True) for path in self.write)]
        return sorted(every, key=lambda mount: (len(mount[0].parts), mount[0]))


_SETTINGS = (
    "alternatives ca-certificates debian_version fonts group host.conf hosts ld.so.cache ld.so.conf ld.so.conf.d "
    "localtime mime.types nsswitch.conf os-release passwd pki protocols services ssl timezone"
)
SYSTEM: Sequence[str] = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sys/devices/system/cpu"),
    *(f"/etc/{name}" for name in _SETTINGS.split()),
)
"""Readable by every program: system programs, libraries and their settings, without keys and logs."""


GPU_FOLDER = Path("/dev")


def gpu_devices() -> list[Path]:
    """The devices that CUDA needs; without the driver's memory device there are none, because it would fail."""
    names = ("nvidiactl", "nvidia-uvm", "nvidia[0-9]*")
    found = [path for name in names for path in GPU_FOLDER.glob(name)]
    return found if GPU_FOLDER / "nvidia-uvm" in found else []


def interpreter() -> list[Path]:
    """The folders of this interpreter and its packages."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    program = Path(sys.executable)
    packages = [path for path in map(Path, sys.path) if path.name in {"site-packages", "dist-packages"}]
    settings = [path for path in Path("/etc").glob("java*")]
    return [*map(Path, sorted(places)), program.parent, program.resolve().parent, *packages, *settings]


def _topmost(paths: Iterable[Path]) -> list[Path]:
    """Existing paths, parents first, without those inside others."""
    both = {place for path in paths for place in (Path(os.path.abspath(path)), path.resolve()) if place.exists()}  # noqa: PTH100 - links stay as they are
    kept: list[Path] = []
    for path in sorted(both, key=lambda path: (len(path.parts), path)):
        if not _is_below(path, kept):
            kept.append(path)
    return kept


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
