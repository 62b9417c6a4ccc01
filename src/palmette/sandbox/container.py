"""Isolation by Docker or Podman containers, equivalent to bubblewrap.

Nothing in the image is used: the machine's programs, libraries and interpreter and the folders of the run are mounted
over it, at the same paths. So programs are the same at every level, and an empty image is enough. It must exist
locally; none is pulled.
"""

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
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from palmette.sandbox.access import Access, Paths
from palmette.sandbox.isolation import PRIVATE_MB, Command, Walls, missing_in_kernel
from palmette.sandbox.network import GATE, Gate, Network, NoNetworkError
from palmette.sandbox.supervisor.watch import THREADS
from palmette.sandbox.syscalls import filter_of, rules
from palmette.sandbox.temporary import temporary_folder

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
    """An explicit level: `docker:IMAGE` or `podman:IMAGE`.

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
        argv = (
            *self._run(name, f"container:{network.name}" if network else "host"),
            *("--interactive", "--memory", f"{limits.memory}m", "--memory-swap", f"{limits.memory}m"),
            *("--pids-limit", str(THREADS * limits.processes), "--shm-size", f"{PRIVATE_MB}m"),
            *("--tmpfs", f"/tmp:rw,exec,mode=1777,size={PRIVATE_MB}m"),
            *_mounts(Paths(access, command.cwd, command.env, command.scratch)),
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
