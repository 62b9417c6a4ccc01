"""The levels of isolation, best first, and which of them work on this machine."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from palmette.sandbox.access import Access, Limits, Paths
from palmette.sandbox.network import Network
from palmette.sandbox.supervisor.walls import landlock_version
from palmette.sandbox.syscalls import filter_of, rules

PRIVATE = ("/dev/shm", "/tmp")  # in-memory folders, private to each program
PRIVATE_MB = 512  # size of each
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Command(NamedTuple):
    """A program with its arguments, environment and folders."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    scratch: Path  # its private writable folder
    limits: Limits  # its resource limits


class Walls(NamedTuple):
    """The walls that the supervisor puts around a program, in types that `marshal` can write; see `supervisor.main`."""

    argv: tuple[str, ...]
    env: dict[str, str]
    landlock: dict[str, object] | None = None
    seccomp: bytes = b""
    seccomp_option: str = ""
    spare_processes: int = 0  # number of processes that the isolation itself needs
    private: tuple[str, ...] = ()  # the program's in-memory folders, by their paths inside
    ending: tuple[str, ...] = ()  # the command that stops the program in a container service; empty otherwise


class Isolation(Protocol):
    """A level of isolation."""

    name: str  # recorded in every `ExecutionResult`; states what is not isolated

    def missing(self) -> str:
        """What this machine lacks for it, as far as known without a trial; empty if nothing."""
        ...

    def network(self) -> Network | None:
        """A new network for the programs of one sandbox; None if they use the machine's."""
        ...

    def walls(self, command: Command, access: Access, network: Network | None) -> Walls:
        """The walls for a command; `network`: the sandbox's network, if the command uses it."""
        ...


class Bubblewrap:
    """Namespaces of its own: the program sees only its folders, its own processes and its own network."""

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
        argv = (
            self._program,
            *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "sandbox"),
            *("--die-with-parent", "--cap-drop", "ALL"),
            *("--proc", "/proc", "--dev", "/dev", *private),
            *(part for path, writable in paths.mounts() for part in _mount(path, writable)),
            *("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"),
            *("--chdir", str(command.cwd), "--", *command.argv),
        )
        denied = filter_of(rules(own_files=True, own_network=True, shared=access.shared))
        return Walls(argv, command.env, seccomp=denied, seccomp_option="--seccomp", spare_processes=2, private=PRIVATE)


def _mount(path: Path, writable: bool) -> tuple[str, str, str]:
    """The system's links stay links, because libraries are found by both names."""
    if not writable and path.is_symlink() and not path.readlink().is_absolute():
        return "--symlink", str(path.readlink()), str(path)
    return "--bind" if writable else "--ro-bind", str(path), str(path)


class Landlock:
    """The kernel's rules for files, signals and ports, and a filter of system calls; a network if possible.

    Other processes are visible but out of reach. There is no private /tmp or /dev/shm; programs have their own folder.
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
            own_files=False, own_network=network is not None or not is_closed, guards_truncation=landlock_version() >= 3
        )
        read, write = [*map(str, paths.read), "/proc"], [*map(str, paths.write), *_DEVICES]
        landlock: dict[str, object] = {"read": read, "write": write, "ports": ports}
        # Semaphores would need /dev/shm; joblib warns if it cannot create them.
        return Walls(command.argv, {"JOBLIB_MULTIPROCESSING": "0", **command.env}, landlock, filter_of(forbidden))


class NoIsolation:
    """No walls, only limits: the program can read and reach whatever its user can."""

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
        "JDK_JAVA_OPTIONS": f'"-Djava.io.tmpdir={scratch}" -XX:-UsePerfData',  # Java ignores TMPDIR
        "LANG": allowed.get("LANG", "C.UTF-8"),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**allowed, **private, **extra}


_ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "JAVA_HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def missing_in_kernel() -> str:
    """What every level except `none` needs and this kernel lacks; empty if nothing."""
    if os.uname().sysname != "Linux":
        return "it needs Linux"
    return "" if filter_of(()) else f"the system calls of {os.uname().machine} are not known"
