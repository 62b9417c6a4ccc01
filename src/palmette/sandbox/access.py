"""What a sandboxed program may use of the machine; the caller states it for each program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.documents import Model


class Access(Model):
    """What a program may use beside the system's programs, this interpreter, Java and its private folder.

    Paths that do not exist are passed over.
    """

    read: tuple[Path, ...] = ()
    """Files, and folders with all that is below them."""
    write: tuple[Path, ...] = ()
    """The same, to be read and changed."""
    network: Literal["own", "machine"] = "own"
    """`own`: the loopback that it shares with the other programs of its sandbox, and nothing else. `machine`: all that
    this machine can reach."""
    shared: bool = False
    """Whether others use folders that it may change, too: then it changes no rights, times or attributes of files."""
    ports: tuple[int, ...] = Field(default=())
    """Of the loopback, what it calls: where the kernel gives no network of its own, it may connect to no other port,
    and to these on any machine."""


class Paths:
    """Folders and files without those that lie in others, each also by its true path where a link leads there."""

    def __init__(self, access: Access, cwd: Path, env: Mapping[str, str], scratch: Path) -> None:
        self.write = _topmost([*access.write, scratch])
        java = [Path(home) for home in (env.get("JAVA_HOME"),) if home]
        given = [*map(Path, SYSTEM), *interpreter(), *java, *access.read, cwd]
        self.read = [path for path in _topmost(given) if not _is_below(path, self.write)]

    def mounts(self) -> list[tuple[Path, bool]]:
        """All of them, and whether each may be changed; those that hold others first."""
        every = [*((path, False) for path in self.read), *((path, True) for path in self.write)]
        return sorted(every, key=lambda mount: (len(mount[0].parts), mount[0]))


SYSTEM: Sequence[str] = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/sys/devices/system/cpu",
    *(
        f"/etc/{name}"
        for name in (
            "alternatives",
            "ca-certificates",
            "debian_version",
            "fonts",
            "group",
            "host.conf",
            "hosts",
            "ld.so.cache",
            "ld.so.conf",
            "ld.so.conf.d",
            "localtime",
            "mime.types",
            "nsswitch.conf",
            "os-release",
            "passwd",
            "pki",
            "protocols",
            "services",
            "ssl",
            "timezone",
        )
    ),
)
"""What every program may read: programs, libraries, and the settings that they look for; no keys, no logs."""


def interpreter() -> list[Path]:
    """The folders of this interpreter and of its packages."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    program = Path(sys.executable)
    packages = [path for path in map(Path, sys.path) if path.name in {"site-packages", "dist-packages"}]
    settings = [path for path in Path("/etc").glob("java*")]
    return [*map(Path, sorted(places)), program.parent, program.resolve().parent, *packages, *settings]


def _topmost(paths: Iterable[Path]) -> list[Path]:
    """Those that exist, parents first, without those that lie in others."""
    both = {place for path in paths for place in (Path(os.path.abspath(path)), path.resolve()) if place.exists()}  # noqa: PTH100 - links stay as they are
    kept: list[Path] = []
    for path in sorted(both, key=lambda path: (len(path.parts), path)):
        if not _is_below(path, kept):
            kept.append(path)
    return kept


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
