"""Runs a package's `serve.py` in the sandbox and sends it requests."""

import http.client
import json
import socket
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from palmette.automl.project.built import surroundings
from palmette.sandbox import Process, Sandbox, python_command

LOOPBACK = "127.0.0.1"
QUIET = ("--log-level", "warning")
TIMEOUT = 60.0  # seconds for one answer
MOST = 1 << 26  # largest answer in bytes: about ten thousand rows
UNREADABLE = (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Raised when an answer is missing or malformed."""
EVERYWHERE = {"0.0.0.0": LOOPBACK, "::": "::1"}  # listening addresses, and the addresses to call instead


class HttpReply(NamedTuple):
    status: int
    text: str
    seconds: float

    def data(self) -> Any:
        """The parsed body; raises ValueError if it is not JSON."""
        try:
            return json.loads(self.text)
        except RecursionError:
            raise ValueError("the answer is nested too deeply") from None


class Service(AbstractContextManager["Service"]):
    """A running endpoint; a context manager that stops it, at the latest when palmette ends."""

    def __init__(self, sandbox: Sandbox, folder: Path, host: str = LOOPBACK, port: int | None = None) -> None:
        """Starts it. Without `port`, a free one is used, and only this object can call it."""
        self.host, self.port = host, port or sandbox.free_port()
        self._relay = sandbox.publish(host, self.port) if port else None
        inside = LOOPBACK if self._relay or not port else host
        argv = python_command("-m", "uvicorn", "serve:app", "--host", inside, "--port", str(self.port), *QUIET)
        self._process: Process = sandbox.start(argv, cwd=folder, **surroundings(folder))
        self._sandbox = sandbox
        self._connection = http.client.HTTPConnection(EVERYWHERE.get(inside, inside), self.port)

    @property
    def url(self) -> str:
        host = EVERYWHERE.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def alive(self) -> bool:
        return self._process.alive

    def output(self) -> str:
        return self._process.output()

    def is_healthy(self, seconds: float = TIMEOUT) -> bool:
        """Waits for the health check; False if the server ends or the time runs out."""
        end = time.monotonic() + seconds
        while self.alive and time.monotonic() < end:
            with suppress(*UNREADABLE):
                reply = self.call("GET", "/health")
                return reply.status == http.HTTPStatus.OK and reply.data().get("status") == "ok"
            time.sleep(0.05)
        return False

    def call(self, method: str, path: str, body: object = None) -> HttpReply:
        """Sends a request with a JSON body; reconnects if the server has closed the connection.

        Raises:
            OSError, http.client.HTTPException: The server does not answer.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        started = time.perf_counter()
        try:
            text, status = self._answer(method, path, data, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._connection.close()
            text, status = self._answer(method, path, data, headers)
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        return HttpReply(status, text, time.perf_counter() - started)

    def _answer(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[str, int]:
        one: Any = self._connection  # it reaches into the sandbox, by a bounded socket
        if one.sock is None:
            with self._sandbox.connect(one.host, one.port, TIMEOUT) as made:
                one.sock = _Bounded(fileno=made.detach())
            one.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.sock.until, one.sock.left = time.monotonic() + TIMEOUT, MOST
        one.request(method, path, data, headers)
        with one.getresponse() as response:
            return response.read().decode("utf-8", "replace"), response.status

    def stop(self) -> None:
        self._connection.close()
        if self._relay:
            self._relay.close()
        self._process.stop()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Bounded(socket.socket):
    """A socket that limits time and size of an answer; raises OSError beyond."""

    until, left = 0.0, 0  # when the answer has to end, and bytes that may still come

    def recv_into(self, *given: Any) -> int:
        if self.left <= 0:
            raise OSError("the answer is too long")
        self.settimeout(max(0.001, self.until - time.monotonic()))
        count = super().recv_into(*given)
        self.left -= count
        return count
