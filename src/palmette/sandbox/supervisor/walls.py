"""Walls that a process puts around itself before it becomes the program; kernel calls by ctypes.

Only Linux has them; elsewhere nothing here has an effect. An OSError names what the kernel refused.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys

TYPE_CHECKING = False  # the real one takes long to import
if TYPE_CHECKING:
    from typing import Any

_IS_LINUX = sys.platform == "linux"
_LIBC: Any = ctypes.CDLL(None, use_errno=True)

_SET_PDEATHSIG, _SET_SECCOMP, _CAPBSET_DROP, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 22, 24, 36, 38
_FILTER = 2
_CAPABILITIES_VERSION = 0x20080522
_CAPABILITIES = 64

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_BENEATH, _PORT = 1, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_ALL_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All file access rights, by the first Landlock version that has them."""
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
"""Rights that a rule for a single file, not a folder, may name."""
_BIND, _CONNECT = 1, 2
_SCOPED = 1 | 2  # abstract Unix sockets and signals stay among the program's own processes


def adopt_orphans() -> None:
    """Orphans below this process become its children, whatever their session."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def join(namespaces: list[int]) -> None:
    for fd in namespaces:
        _checked(_LIBC.setns(fd, 0), "join a namespace")
        os.close(fd)


def give_up_privileges() -> None:
    """Drops all capabilities, also for programs started later."""
    if not _IS_LINUX:
        return
    for capability in range(_CAPABILITIES):
        _LIBC.prctl(_CAPBSET_DROP, capability, 0, 0, 0)  # fails for unknown capabilities
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    _checked(_LIBC.capset(header, bytes(24)), "give up capabilities")
    _prctl(_SET_NO_NEW_PRIVS, 1)


def landlock_version() -> int:
    """The running kernel's Landlock version; 0 if it has none."""
    if not _IS_LINUX:
        return 0
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def landlock(read: list[str], write: list[str], ports: list[int] | None) -> None:
    """From here on only files below `read` can be read and executed, and only those below `write` changed.

    `ports`: TCP ports, on any machine, that it may connect to; None for all. If the kernel supports it, no
    outside process can be signalled or reached by an abstract Unix socket.
    """
    version = landlock_version()
    files = max(rights for first, rights in _ALL_FILES.items() if first <= version)
    handled = struct.pack(
        "=QQQ", files, _CONNECT if ports is not None and version >= 4 else 0, _SCOPED if version >= 6 else 0
    )[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _syscall(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    for paths, rights in ((read, _EXECUTE | _READ_FILE | _READ_DIR), (write, files)):
        for path in paths:
            _allow_below(ruleset, path, rights & files)
    for port in ports or () if version >= 4 else ():
        _syscall(_ADD_RULE, ruleset, _PORT, struct.pack("=QQ", _CONNECT, port), 0)
    _syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow_below(ruleset: int, path: str, rights: int) -> None:
    """Ignores a path that does not exist."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return
    is_folder = os.path.isdir(path)  # noqa: PTH112 - pathlib would double the start-up time
    allowed = rights if is_folder else rights & _OF_A_FILE
    _syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", allowed, fd), 0)
    os.close(fd)


def seccomp(program: bytes) -> None:
    """From here on `program`, instructions for the kernel's filter, judges every system call."""
    code = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked(_LIBC.prctl(_SET_SECCOMP, _FILTER, given, 0, 0), "filter system calls")


def readable(content: bytes) -> int:
    """A file descriptor, kept by the program, from which `content` can be read."""
    fd = os.memfd_create("filter", 0)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _prctl(option: int, value: int) -> None:
    if _IS_LINUX:
        _checked(_LIBC.prctl(option, value, 0, 0, 0), "change the process")


def _syscall(number: int, *arguments: Any) -> int:
    return _checked(_LIBC.syscall(number, *arguments), "restrict itself by Landlock")


def _checked(outcome: int, what: str) -> int:
    if outcome < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot {what}: {os.strerror(code)}")
    return outcome
