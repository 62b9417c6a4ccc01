"""Sets limits, puts up walls, starts the program, and ends all its descendants.

It ends them when the program ends, its time is over, a limit is reached, or the control pipe closes, which happens
whenever palmette ends. Arguments: two file descriptors. From the first it reads, after an eight-byte length,
a mapping in `marshal` format (a JSON parser takes longer to import than everything else here):

- argv, env, cwd, scratch (a folder to remove at the end), place (removed with it if palmette has ended),
  write (folders that the program may fill);
- limits: as in `Limits`, without output_chars;
- namespaces: file descriptors of namespaces to join, the user namespace first; each is closed afterwards;
- landlock: null, or read, write, ports (null: no rule about ports), scoped; see `walls.landlock`;
- seccomp: a filter, or empty; seccomp_option: the program's option for it, if the
  program applies it itself;
- private: the program's in-memory folders, by their paths inside;
- ending: empty; or, if argv asks a container service to run the program, the command that stops it
  there. Such an argv gets no walls and no limits: `inside` sets them in the container.

To the second it writes four lines: exit code, how it ended, seconds, and a note.
"""

from __future__ import annotations

import marshal
import os
import resource
import signal
import sys
import time
from contextlib import suppress

from . import walls
from .folders import remove, remove_unheld
from .tree import kill_tree, reap
from .watch import watch

TYPE_CHECKING = False  # the real one takes long to import
if TYPE_CHECKING:
    from typing import Any, NoReturn


_ENDING_SECONDS = 10.0
_REMOVING_SECONDS = 5.0
"""Other programs may still fill the shared private folder; the report is written in time nevertheless."""
_FIRST_TO_END = "1000"  # when memory runs out, the kernel ends these programs first, however small each is
_SIGNALS = 1024
"""Maximum number of timers and queued signals; the system's limit is shared by all of a user's processes."""


def main() -> None:
    control, report = int(sys.argv[1]), int(sys.argv[2])
    spec = marshal.loads(_received(control, int.from_bytes(_received(control, 8), "little")))
    walls.adopt_orphans()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    started = time.monotonic()
    program = os.fork()
    if program == 0:
        os.close(control)
        os.close(report)
        os.setsid()
        become(spec)
    code, ended, note = watch(program, spec, control, wake_read)
    seconds = time.monotonic() - started
    kill_tree(program)
    if spec["ending"] and ended != "exited":
        _end_there(spec["ending"], spec["env"])
    remove(spec["scratch"], seconds=_REMOVING_SECONDS)
    remove_unheld(spec["place"])
    with suppress(OSError):
        os.write(report, f"{code}\n{ended}\n{seconds}\n{note}".encode())


def _end_there(argv: tuple[str, ...], env: dict[str, str]) -> None:
    actions = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    with suppress(OSError):
        program = os.posix_spawnp(argv[0], argv, env, file_actions=actions)
        until = time.monotonic() + _ENDING_SECONDS
        while reap(program) is None and time.monotonic() < until:
            time.sleep(0.01)
        kill_tree(program)


def _received(control: int, size: int) -> bytes:
    text = b""
    while len(text) < size:
        part = os.read(control, size - len(text))
        if not part:
            sys.exit("palmette ended before it sent what to run")
        text += part
    return text


def inside() -> None:
    """In a container: becomes the program that a file with such a mapping describes, which it removes."""
    with open(sys.argv[1], "rb") as file:  # noqa: PTH123 - pathlib would double the start-up time
        spec = marshal.load(file)
    os.unlink(sys.argv[1])  # noqa: PTH108 - as above
    become(spec)


def become(spec: dict[str, Any]) -> NoReturn:
    """Turns this process into the program."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        walls.end_with_parent()
        if spec["ending"]:
            os.chdir(spec["scratch"])  # files that a service leaves in the current folder are removed with the program
        argv = spec["argv"] if spec["ending"] else _walled(spec)
        os.execvpe(argv[0], argv, spec["env"])
    except OSError as error:
        os.write(2, f"cannot start {spec['argv'][0]!r}: {error}\n".encode())
    finally:
        os._exit(127)


def _walled(spec: dict[str, Any]) -> tuple[str, ...]:
    """Sets the limits and puts up the walls around this process; returns the command to become."""
    _set_limits(spec["limits"])
    os.chdir(spec["cwd"])
    walls.join(spec["namespaces"])
    argv: tuple[str, ...] = spec["argv"]
    forbidden = spec["seccomp"]
    if spec["seccomp_option"]:  # a program that puts up the walls itself needs the privileges that it then gives up
        return (argv[0], spec["seccomp_option"], str(walls.readable(forbidden)), *argv[1:])
    walls.give_up_privileges()
    if spec["landlock"]:
        walls.landlock(**spec["landlock"])
    if forbidden:
        walls.seccomp(forbidden)
    return argv


def _set_limits(limits: dict[str, Any]) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, limits["file_mb"] << 20)
    _limit(resource.RLIMIT_NOFILE, limits["open_files"])
    if sys.platform == "linux":
        _limit(resource.RLIMIT_SIGPENDING, _SIGNALS)
    _limit(resource.RLIMIT_DATA, limits["memory_mb"] << 20)  # not RLIMIT_AS: a JVM reserves more than it uses
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123 - as in tree.py
        file.write(_FIRST_TO_END)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))
