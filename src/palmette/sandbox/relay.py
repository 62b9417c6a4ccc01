"""Publishes a server of a sandbox on a port of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from palmette.errors import MachineError

_CHUNK = 65536


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
