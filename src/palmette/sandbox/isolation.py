"""The seam for stronger isolation: how a command is wrapped before it is started.

`LimitsOnly` keeps no program from reading the user's files or from using the network: it bounds time,
processes, files and output, takes all secrets out of the environment and leaves nothing running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Command(NamedTuple):
    """A program with its arguments and its whole environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


class Isolation(Protocol):
    """Wraps a command, e.g. in a namespace tool."""

    name: str
    """Stands in every `ExecutionResult`."""

    def wrap(self, command: Command, cwd: Path, scratch: Path) -> Command:
        """The command to start instead; `scratch` is the private folder that it may write to."""
        ...


class LimitsOnly:
    """No wall around the program, only bounds."""

    name = "limits"

    def wrap(self, command: Command, cwd: Path, scratch: Path) -> Command:
        return command


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
