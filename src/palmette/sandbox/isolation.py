"""The levels of isolation, best first, and the choice of the requested or the best one that works here."""

import csv
import io
import marshal
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

from palmette.errors import MachineError, UserError, did_you_mean
from palmette.sandbox.access import Access, Limits, Paths
from palmette.sandbox.network import GATE, Gate, Network, NoNetworkError
from palmette.sandbox.supervisor.walls import landlock_version
from palmette.sandbox.supervisor.watch import THREADS
from palmette.sandbox.syscalls import filter_of, rules
from palmette.sandbox.temporary import temporary_folder

PRIVATE = ("/dev/shm", "/tmp")  # in-memory folders, private to each program
PRIVATE_MB = 512  # size of each
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Command(NamedTuple):
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
            *(part for device in paths.devices for part in ("--dev-bind", str(device), str(device))),
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
        read, write = [*map(str, paths.read), "/proc"], [*map(str, (*paths.write, *paths.devices)), *_DEVICES]
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


ENGINES = ("docker", "podman")
_BECOME = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from supervisor.main import inside; del sys.path[0]; inside()"
)
_START_SECONDS = 60.0
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
"""Clients may be configured to pass these, sometimes with passwords, to every container."""
_OF_THE_CLIENT = ("HOME", "PATH", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS")
_PREFIXES = ("DOCKER_", "CONTAINER_", "CONTAINERS_", "STORAGE_")


class Container:
    """An explicit level: `docker:IMAGE` or `podman:IMAGE`, equivalent to bubblewrap.

    Nothing in the image is used: the machine's programs, libraries and interpreter and the folders of the run are
    mounted over it, at the same paths. So programs are the same at every level, and an empty image is enough. It must
    exist locally; none is pulled.

    Memory and process limits are enforced by cgroups; the other limits are those of all levels. The
    service must be local and run as, or for, this user, because files keep their owner.
    """

    def __init__(self, engine: str, image: str) -> None:
        self.name = f"{engine} {image}"
        self._engine, self._image = engine, image
        self._program = shutil.which(engine) or engine

    def missing(self) -> str:
        reason = missing_in_kernel() or ("" if shutil.which(self._program) else f"{self._engine} is not installed")
        if reason:
            return reason
        asked = [self._program, "image", "inspect", self._image]
        done = subprocess.run(asked, env=_client(), capture_output=True, check=False)
        if done.returncode == 0:
            return ""
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
        empty = f"`tar c -T /dev/null | {self._engine} import - {self._image}` makes an empty one, which will do"
        return f"{reason}; if there is no such image: {empty}"

    def network(self) -> Network:
        return Network(self._gate)

    def walls(self, command: Command, access: Access, network: Network | None) -> Walls:
        limits, name = command.limits, _name()
        forbidden = rules(own_files=True, own_network=True, shared=access.shared)
        spec = {
            **{"argv": command.argv, "env": dict(command.env), "cwd": str(command.cwd), "namespaces": []},
            **{"limits": {**limits.model_dump(), "memory_mb": limits.memory}, "ending": (), "landlock": None},
            **{"seccomp": filter_of(forbidden), "seccomp_option": ""},
        }
        file = command.scratch / ".command"
        file.write_bytes(marshal.dumps(spec))
        access = access.model_copy(update={"read": (*access.read, GATE.parent)})
        paths = Paths(access, command.cwd, command.env, command.scratch)
        argv = (
            *self._run(name, f"container:{network.name}" if network else "host"),
            *("--interactive", "--memory", f"{limits.memory}m", "--memory-swap", f"{limits.memory}m"),
            *("--pids-limit", str(THREADS * limits.processes), "--shm-size", f"{PRIVATE_MB}m"),
            *("--tmpfs", f"/tmp:rw,exec,mode=1777,size={PRIVATE_MB}m"),
            *_mounts(paths),
            *(f"--device={device}" for device in paths.devices),
            *(self._image, "-I", "-S", "-c", _BECOME, str(GATE.parent.parent), str(file)),
        )
        soon = ("--time", "0") if self._engine == "podman" else ()
        return Walls(argv, _client(), spare_processes=4, ending=(self._program, "rm", "--force", *soon, name))

    def _run(self, name: str, network: str) -> list[str]:
        """The command up to the mounts: a container without privileges that runs this interpreter."""
        names = ("--userns", "keep-id") if self._engine == "podman" and os.getuid() else ()
        return [
            *(self._program, "run", "--rm", "--init", "--name", name, "--network", network, "--pull", "never"),
            *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
            *("--security-opt", "label=disable", "--log-driver", "none", "--no-healthcheck"),
            *("--user", f"{os.getuid()}:{os.getgid()}", *names, "--entrypoint", sys.executable),
            *(part for one in _PROXIES for part in ("--env", f"{one}=", "--env", f"{one.lower()}=")),
        ]

    def _gate(self) -> Gate:
        """A gate in a container that others join; the container ends when its channel closes."""
        name = _name()
        with temporary_folder() as folder:
            access = Access(read=(GATE.parent,), write=(folder,))
            mounts = _mounts(Paths(access, folder, {}, folder))
            argv = [*self._run(name, "none"), *mounts, self._image, "-I", "-S", str(GATE), str(folder / "gate")]
            quiet = subprocess.DEVNULL
            with (folder / "errors").open("wb") as errors:
                process = subprocess.Popen(
                    argv, cwd=folder, env=_client(), stdin=quiet, stdout=quiet, stderr=errors, start_new_session=True
                )
            channel = _called(folder / "gate", process)
            if channel is None:
                raise NoNetworkError(" ".join((folder / "errors").read_text("utf-8", "replace").split())[-300:])
            return Gate(process, channel, name)


def _called(path: Path, process: subprocess.Popen[bytes]) -> socket.socket | None:
    """A connection to the gate; None if it does not open."""
    channel, until = socket.socket(socket.AF_UNIX), time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError):
            channel.connect(str(path))
            return channel
        time.sleep(0.02)
    channel.close()
    process.kill()
    process.wait()
    return None


def _name() -> str:
    return f"palmette-{secrets.token_hex(8)}"


def _mounts(paths: Paths) -> Iterator[str]:
    for path, writable in paths.mounts():
        fields = ["type=bind", f"src={path}", f"dst={path}", *([] if writable else ["readonly"])]
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(fields)
        yield from ("--mount", line.getvalue())


def _client() -> dict[str, str]:
    """The environment for the client: what it needs to find the service, without secrets."""
    return {name: value for name, value in os.environ.items() if name in _OF_THE_CLIENT or name.startswith(_PREFIXES)}


VARIABLE = "PALMETTE_ISOLATION"  # environment variable that names a level
UNSAFE = "none"

Trial = Callable[[Isolation], str]  # starts a program under an isolation and returns the error; empty if it worked


def isolation_of(name: str) -> Isolation:
    """The isolation of this name; UserError if unknown."""
    engine, _, image = name.partition(":")
    if engine in ENGINES and image:
        return Container(engine, image)
    if name not in LEVELS:
        known = [*LEVELS, *(f"{engine}:IMAGE" for engine in ENGINES)]
        message = f"{name!r} is not an isolation level.{did_you_mean(name, known)}"
        raise UserError(message, f"There are {', '.join(known)}; {VARIABLE} names one.", code="unknown-isolation")
    return LEVELS[name]()


@cache
def best_isolation(trial: Trial, name: str = "") -> Isolation:
    """The isolation of this name, or the best that works here.

    Raises:
        UserError: the name is unknown.
        MachineError: the requested level does not work here, or none works and `none` was not requested.
    """
    reasons = []
    for level in (name,) if name else [level for level in LEVELS if level != UNSAFE]:
        isolation = isolation_of(level)
        reason = isolation.missing() or trial(isolation)
        if not reason:
            return isolation
        reasons.append(f"{level}: {reason}")
    raise MachineError(
        f"Programs cannot be isolated on this machine ({'; '.join(reasons)}).",
        "Install bubblewrap, or allow generated code to read your files and to use your network: "
        f"`palmette --isolation {UNSAFE} ...` or {VARIABLE}={UNSAFE}.",
        code="not-isolated",
    )


@cache
def _own_network() -> bool:
    try:
        Network().close()
    except NoNetworkError:
        return False
    return True


LEVELS: Mapping[str, Callable[[], Isolation]] = {
    "bubblewrap": Bubblewrap,
    "landlock": lambda: Landlock(own_network=_own_network()),
    UNSAFE: NoIsolation,
}
"""Best first; containers are only used on request."""
