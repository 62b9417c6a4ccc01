"""A network that programs of one sandbox share: a loopback of their own, behind which there is nothing."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from os import close
from pathlib import Path

_GATE = str(Path(__file__).parent / "supervisor" / "gate.py")
_SECONDS = 10.0


class NoNetworkError(Exception):
    """The kernel gives this user no network of its own; says why."""


class Network:
    """Made at once, gone with the last program in it; NoNetworkError where it cannot be made."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(_SECONDS)
        with theirs:
            gate = subprocess.Popen(
                [sys.executable, "-I", "-S", _GATE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        said, fds = _received(ours, 2)
        self._channel, self._lock = ours, threading.Lock()
        self.namespaces: Sequence[int] = fds
        """File descriptors: of the user namespace, of the network namespace."""
        self.close = weakref.finalize(self, _end, ours, gate, fds)
        if len(fds) < 2:
            self.close()
            raise NoNetworkError(said or "it cannot be made")

    def socket(self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """A socket in this network, for use outside of it."""
        with self._lock:
            self._channel.send(struct.pack("=ii", family, kind))
            fds = _received(self._channel, 1)[1]
        return socket.socket(fileno=fds[0])


def _received(channel: socket.socket, count: int) -> tuple[str, list[int]]:
    with suppress(OSError):
        said, fds, _, _ = socket.recv_fds(channel, 1024, count)
        return said.decode("utf-8", "replace"), fds
    return "", []


def _end(channel: socket.socket, gate: subprocess.Popen[bytes], fds: list[int]) -> None:
    channel.close()
    gate.wait()
    for fd in fds:
        close(fd)
