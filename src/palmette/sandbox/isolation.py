"""How a program is kept from the rest of the machine: the levels, best first, and which of them works here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from palmette.sandbox.access import Access, Paths
from palmette.sandbox.network import Network
from palmette.sandbox.result import Limits
from palmette.sandbox.supervisor.walls import landlock_version
from palmette.sandbox.syscalls import filter_of, rules

PRIVATE = ("/dev/shm", "/tmp")
"""Folders that are memory, each program's its own."""
PRIVATE_MB = 512
"""Size of each."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Command(NamedTuple):
    """A program with its arguments, its whole environment and its folders."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    scratch: Path
    """The private folder that it may write to."""
    limits: Limits
    """What it may use."""


class Walls(NamedTuple):
    """What the supervisor is to put around a program; see `supervisor.main`."""

    argv: Sequence[str]
    env: Mapping[str, str]
    landlock: Mapping[str, object] | None = None
    seccomp: bytes = b""
    seccomp_option: str = ""
    spare_processes: int = 0
    """Processes of the isolation itself."""
    private: Sequence[str] = ()
    """Folders of the program's own that are memory, as it names them."""
    ending: Sequence[str] = ()
    """Where `argv` asks a service to run the program: what ends it there."""


class Isolation(Protocol):
    """A level."""

    name: str
    """Stands in every `ExecutionResult`, with what is left open."""

    def missing(self) -> str:
        """What it lacks on this machine, in words, as far as that is known without trying it; empty when nothing."""
        ...

    def network(self) -> Network | None:
        """A new network for the programs of one sandbox; None where they have the machine's."""
        ...

    def walls(self, command: Command, access: Access, network: Network | None) -> Walls:
        """The walls for a command; `network`: of its sandbox, where it is to be in it."""
        ...


class Bubblewrap:
    """Own namespaces: the program sees the folders that it may use, its own processes and its own network."""

    name = "bubblewrap"

    def __init__(self, program: str = "bwrap") -> None:
        self._program = shutil.which(program) or program

    def missing(self) -> str:
        return missing_in_kernel() or ("" if shutil.which(self._program) else "the program bwrap is not installed")

    def network(self) -> Network:
        return Network()

    def walls(self, command: Command, access: Access, network: Network | None) -> Walls:
        paths = Paths(access, command.cwd, command.env, command.scratch)
        private = [part for folder in PRIVATE for part in ("--size", str(PRIVATE_MB << 20), "--tmpfs", folder)]
        argv = [
            self._program,
            *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "sandbox"),
            *("--die-with-parent", "--cap-drop", "ALL"),
            *("--proc", "/proc", "--dev", "/dev", *private),
            *(part for path, writable in paths.mounts() for part in _mount(path, writable)),
            *("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--chdir", str(command.cwd), "--", *command.argv),
        ]
        forbidden = filter_of(rules(own_files=True, own_network=True, shared=access.shared))
        return Walls(
            argv, command.env, seccomp=forbidden, seccomp_option="--seccomp", spare_processes=2, private=PRIVATE
        )


def _mount(path: Path, writable: bool) -> tuple[str, str, str]:
    """A link of the system's own stays one: libraries are found by both names."""
    if not writable and path.is_symlink() and not path.readlink().is_absolute():
        return "--symlink", str(path.readlink()), str(path)
    return "--bind" if writable else "--ro-bind", str(path), str(path)


class Landlock:
    """The kernel's rules about files, signals and ports, and a filter of system calls; a network where it can be had.

    Others' processes are seen, not touched. There is no private /tmp and no /dev/shm: programs have their own folder.
    """

    def __init__(self, *, own_network: bool) -> None:
        self._own_network = own_network
        version = landlock_version()
        gaps = {
            "its own network": own_network,
            "truncation": version >= 3,
            "ports": own_network or version >= 4,
            "signals": version >= 6,
        }
        open_ = ", ".join(gap for gap, is_closed in gaps.items() if not is_closed)
        self.name = f"landlock without {open_}" if open_ else "landlock"

    def missing(self) -> str:
        lacks = "the kernel has no Landlock, or it is switched off"
        return missing_in_kernel() or ("" if landlock_version() else lacks)

    def network(self) -> Network | None:
        return Network() if self._own_network else None

    def walls(self, command: Command, access: Access, network: Network | None) -> Walls:
        paths = Paths(access, command.cwd, command.env, command.scratch)
        is_closed = access.network == "own"
        ports = list(access.ports) if is_closed and network is None else None
        forbidden = rules(
            own_files=False,
            own_network=network is not None or not is_closed,
            guards_truncation=landlock_version() >= 3,
        )
        landlock = {
            "read": [*map(str, paths.read), "/proc"],
            "write": [*map(str, paths.write), *_DEVICES],
            "ports": ports,
        }
        # Semaphores would be files in /dev/shm; joblib warns where it cannot have them.
        return Walls(command.argv, {"JOBLIB_MULTIPROCESSING": "0", **command.env}, landlock, filter_of(forbidden))


class NoIsolation:
    """No walls, only bounds: the program reads what its user can read, and reaches what this machine can reach."""

    name = "not isolated"

    def missing(self) -> str:
        return ""

    def network(self) -> None:
        return None

    def walls(self, command: Command, access: Access, network: Network | None) -> Walls:
        return Walls(command.argv, command.env)


def allowed_environment(environment: Mapping[str, str], scratch: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """A sandboxed program's environment: an allow-list of `environment`, private folders, then `extra`."""
    allowed = {name: environment[name] for name in _ALLOWED if name in environment}
    private = {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "JDK_JAVA_OPTIONS": f'"-Djava.io.tmpdir={scratch}" -XX:-UsePerfData',  # Java knows no TMPDIR
        "LANG": allowed.get("LANG", "C.UTF-8"),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**allowed, **private, **extra}


_ALLOWED: Sequence[str] = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
)


def missing_in_kernel() -> str:
    """What every level but `none` needs of this machine and does not have, in words; empty when nothing."""
    if os.uname().sysname != "Linux":
        return "it needs Linux"
    return "" if filter_of(()) else f"the system calls of {os.uname().machine} are not known"
