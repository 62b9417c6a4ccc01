"""The network of a sandbox, a loopback interface without any route, and the ports that are published from it."""

import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import close
from pathlib import Path
from typing import NamedTuple

from palmette.errors import MachineError

GATE = Path(__file__).parent / "supervisor" / "gate.py"
_SECONDS = 10.0
_CHUNK = 65536


class NoNetworkError(Exception):
    """The kernel does not let this user create a network; the message is the reason."""


class Gate(NamedTuple):
    """The process in a network that creates sockets in it; see `supervisor/gate.py`."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    name: str = ""  # the network's name, if it is not identified by namespaces


class Network:
    """Created at once and removed with its last program; NoNetworkError if impossible."""

    def __init__(self, opened: Callable[[], Gate] | None = None) -> None:
        gate = (opened or _own_gate)()
        gate.channel.settimeout(_SECONDS)
        reply, fds = _received(gate.channel, 2)
        self._channel, self._lock = gate.channel, threading.Lock()
        self.name = gate.name
        self.namespaces: Sequence[int] = fds
        """File descriptors of the user and network namespaces; empty for a named network."""
        self.close = weakref.finalize(self, _end, gate.channel, gate.process, fds)
        if reply != "made":
            self.close()
            raise NoNetworkError(reply or "it cannot be made")

    def socket(self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """A socket in this network for use outside; MachineError if its gate has ended."""
        fds: list[int] = []
        with self._lock, suppress(OSError):
            self._channel.send(struct.pack("=ii", family, kind))
            fds = _received(self._channel, 1)[1]
        if not fds:
            message = "The process that keeps the network of the sandbox has ended."
            remedy = "Another program or, for lack of memory, the kernel ended it; resume the run."
            raise MachineError(message, remedy, code="no-network")
        return socket.socket(fileno=fds[0])


def _own_gate() -> Gate:
    """A gate in new namespaces."""
    ours, theirs = socket.socketpair()
    quiet, channel = subprocess.DEVNULL, theirs.fileno()
    argv = (sys.executable, "-I", "-S", str(GATE), str(channel))
    with theirs:
        process = subprocess.Popen(
            argv, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=(channel,), start_new_session=True
        )
    return Gate(process, ours)


def _received(channel: socket.socket, count: int) -> tuple[str, list[int]]:
    with suppress(OSError):
        reply, fds, _, _ = socket.recv_fds(channel, 1024, count)
        return reply.decode("utf-8", "replace"), fds
    return "", []


def _end(channel: socket.socket, gate: subprocess.Popen[bytes], fds: list[int]) -> None:
    channel.close()
    gate.wait()
    for fd in fds:
        close(fd)


class PortRelay:
    """Listens until closed, and forwards each connection to a new one from `connect`.

    OSError if the port is taken.
    """

    def __init__(self, host: str, port: int, connect: Callable[[], socket.socket]) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._connect = connect
        self._listener = socket.create_server((host, port), family=family, backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                outer, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._carry, args=(outer,), daemon=True).start()

    def _carry(self, outer: socket.socket) -> None:
        try:
            inner = self._connect()
        except (OSError, MachineError):  # nothing listens there
            outer.close()
            return
        for each in (outer, inner):
            each.settimeout(None)
            with suppress(OSError):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=_pump, args=(inner, outer), daemon=True)
        back.start()
        _pump(outer, inner)
        back.join()
        outer.close()
        inner.close()

    def close(self) -> None:
        """Existing connections continue until either side ends them."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
