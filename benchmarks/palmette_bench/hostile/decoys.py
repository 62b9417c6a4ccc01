"""What hostile programs are after: keys, journals, listeners and a process outside of the sandbox, all made for it.

After a program has ended, `damage` reports what it got or did.
"""

import ctypes
import hashlib
import os
import pwd
import secrets
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from palmette.sandbox.temporary import temporary_folder

VARIABLE = "PALMETTE_HOSTILE_KEY"
_QUIET = 0.05
"""Seconds for messages to arrive."""


class Decoys:
    """A context manager; everything in it has a token by which it is known again, and is taken away at the end."""

    def __init__(self) -> None:
        self.token, self.mark = secrets.token_hex(16), f"palmette-hostile-{secrets.token_hex(6)}"
        self.won = secrets.token_hex(16)
        self._stack = ExitStack()
        self.heard: list[str] = []
        self._libc = ctypes.CDLL(None)

    def __enter__(self) -> Self:
        self.root = self._stack.enter_context(temporary_folder())
        self.outside = self.root / "outside"
        (self.outside / ".ssh").mkdir(parents=True)
        (self.outside / ".aws").mkdir()
        (self.outside / "journal.sqlite").write_bytes(b"SQLite format 3\0" + self.token.encode())
        for name in (".ssh/id_rsa", ".aws/credentials", "holdout.csv", "bystander.txt"):
            (self.outside / name).write_text(f"secret {self.token}\n", encoding="utf-8")
        os.environ[VARIABLE] = self.token
        self._stack.callback(os.environ.pop, VARIABLE, None)
        self._in_home = _home() / f".{self.mark}"
        with suppress(OSError):  # a user without a home
            self._in_home.write_text(self.token, encoding="utf-8")
        self._stack.callback(self._in_home.unlink, missing_ok=True)
        self._listen()
        self._leave_message()
        self.victim = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(3600)"], cwd=self.outside, start_new_session=True
        )
        self._stack.callback(self._end_victim)
        self._before = self._state()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for socket_ in self._sockets.values():
            with suppress(OSError):
                socket_.shutdown(socket.SHUT_RDWR)
            socket_.close()
        list(self._remove_traces())
        self._stack.close()

    def described(self) -> dict[str, object]:
        """What a program may know of it; no secret is in it."""
        ports = {name: one.getsockname()[1] for name, one in self._sockets.items() if one.family != socket.AF_UNIX}
        return {
            **{"tcp6": 9, **ports},
            "won": self.won,
            "mark": self.mark,
            "outside": str(self.outside),
            "secret": str(self.outside / ".ssh/id_rsa"),
            "credentials": str(self.outside / ".aws/credentials"),
            "journal": str(self.outside / "journal.sqlite"),
            "holdout": str(self.outside / "holdout.csv"),
            "bystander": str(self.outside / "bystander.txt"),
            "in_home": self._in_home.name,
            "unix": str(self.outside / "socket"),
            "unix_datagram": str(self.outside / "datagrams"),
            "abstract": self.mark,
            "victim": self.victim.pid,
            "key": self._key,
            "queue": self._queue,
        }

    def damage(self, output: str, workspace: Path) -> list[str]:
        """What was got or done, in words; `output` is all that the program printed."""
        time.sleep(_QUIET)
        found = [f"{what} was reached" for what in dict.fromkeys(self.heard)]
        if self.token in output or any(self.token in _text(file) for file in workspace.rglob("*")):
            found.append("a secret was read")
        if self.won in output:
            found.append("it reached its aim")
        found += self._changes()
        return [*found, *self._remove_traces()]

    def _changes(self) -> Iterator[str]:
        after = self._state()
        for name in sorted({*self._before, *after}):
            if self._before.get(name) != after.get(name):
                yield f"{name} was changed"
        self._before = after
        if self.victim.poll() is not None:
            yield "another process was killed"

    def _state(self) -> Mapping[str, object]:
        """Of everything outside: kind, rights, time of change and content."""
        found: dict[str, object] = {}
        for path in (self.outside, *self.outside.rglob("*")):
            stat = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            attributes = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
            found[str(path.relative_to(self.root))] = (stat.st_mode, stat.st_mtime_ns, content, *attributes)
        with suppress(OSError):
            queues = Path("/proc/sysvipc/msg").read_text("ascii").splitlines()
            found["a message"] = [line for line in queues if line.split()[1] == str(self._queue)]
        return found

    def _remove_traces(self) -> Iterator[str]:
        """Takes away what a program has left elsewhere; yields what it was."""
        for place in (sysconfig.get_path("purelib"), _home(), "/tmp", "/dev/shm"):
            for path in Path(place).glob(f"{self.mark}*"):
                path.unlink()
                yield f"a file was left in {place}"
        if sys.platform == "linux":
            left = self._libc.shmget(self._key, 0, 0)
            if left >= 0:
                self._libc.shmctl(left, 0, None)
                yield "memory was left behind"

    @property
    def _key(self) -> int:
        return int(self.token[:7], 16)

    def survivors(self) -> list[int]:
        """Processes that have the mark among their arguments."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and self.mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def _listen(self) -> None:
        inet, unix, datagram = socket.AF_INET, socket.AF_UNIX, socket.SOCK_DGRAM
        self._sockets = {
            "tcp": _bound(socket.socket(inet), ("127.0.0.1", 0)),
            "tcp_all": _bound(socket.socket(inet), ("0.0.0.0", 0)),
            "udp": _bound(socket.socket(inet, datagram), ("127.0.0.1", 0)),
            "unix": _bound(socket.socket(unix), str(self.outside / "socket")),
            "unix_datagram": _bound(socket.socket(unix, datagram), str(self.outside / "datagrams")),
            "abstract": _bound(socket.socket(unix), f"\0{self.mark}"),
        }
        with suppress(OSError):  # a machine without IPv6
            self._sockets["tcp6"] = _bound(socket.socket(socket.AF_INET6), ("::1", 0))
        for name, one in self._sockets.items():
            threading.Thread(target=self._hear, args=(name, one), daemon=True).start()

    def _leave_message(self) -> None:
        """In a queue of the kernel, which this user's processes share."""
        self._queue = int(self._libc.msgget(0, 0o1600)) if sys.platform == "linux" else -1
        if self._queue >= 0:
            self._libc.msgsnd(self._queue, struct.pack("l32s", 1, self.token.encode()), 32, 0)
            self._stack.callback(self._libc.msgctl, self._queue, 0, None)

    def _hear(self, name: str, one: socket.socket) -> None:
        with suppress(OSError):
            while True:
                if one.type == socket.SOCK_DGRAM:
                    one.recv(100)
                else:
                    one.accept()[0].close()
                self.heard.append(name)

    def _end_victim(self) -> None:
        self.victim.kill()
        self.victim.wait()


def _home() -> Path:
    """As programs look for it; a user whom the machine does not know by name has none."""
    with suppress(KeyError):
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    return Path("/nonexistent")


def _bound(one: socket.socket, address: object) -> socket.socket:
    one.bind(address)  # type: ignore[arg-type]  # the forms of addresses differ by family
    if one.type == socket.SOCK_STREAM:
        one.listen()
    return one


def _text(path: Path) -> str:
    with suppress(OSError):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
            return path.read_text(encoding="utf-8", errors="replace")
    return ""
