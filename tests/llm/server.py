"""A chat endpoint on loopback that misbehaves as it is told to, and counts what it is asked."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from palmette.llm import api

Behaviour = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Behaves in the given ways, one a request; the last one stays."""

    daemon_threads = True

    def __init__(self, behaviours: list[Behaviour]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = behaviours
        self.asked: list[dict[str, Any]] = []
        self.raw = b""
        """The last body."""
        self.wrong: list[str] = []
        """What was asked against the protocol."""
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.guard:
            self.server.raw = body
            self.server.asked.append(json.loads(body) if "json" in self.headers["Content-Type"] else {})
            behaviours = self.server.behaviours
            behave = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        behave(self)

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[Server]:
    server = Server(list(behaviours))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def answers(text: str | None, finish: str = "stop", **message: Any) -> Behaviour:
    """A well-formed completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return sends(completion([choice]))


def completion(choices: list[Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": choices, "usage": usage}


def sends(body: Any, status: int = 200, **headers: str) -> Behaviour:
    return lambda handler: handler.send(status, json.dumps(body).encode(), **headers)


def fails(status: int, message: str = "no", **headers: str) -> Behaviour:
    return sends({"error": {"message": message, "type": "error", "code": "x"}}, status, **headers)


def html(status: int = 200) -> Behaviour:
    return lambda handler: handler.send(status, b"<html><body>Sign in to the network</body></html>", "text/html")


def cut_json(handler: Handler) -> None:
    handler.send(200, json.dumps(completion([])).encode()[:40])


def hangs(seconds: float) -> Behaviour:
    return lambda handler: time.sleep(seconds)


def drips(seconds: float) -> Behaviour:
    """Sends a blank now and then, and never an answer; no wait between two bytes is long."""

    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        for _ in range(int(seconds / 0.1)):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.1)

    return behave


def endless(handler: Handler) -> None:
    """Sends blanks as long as anybody reads them."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    with suppress(OSError):
        while True:
            handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def unfolds(size: int) -> Behaviour:
    """An answer of a thousandth of what it unpacks to."""
    body = gzip.compress(b" " * size)
    return lambda handler: handler.send(200, body, Content_Encoding="gzip")


def drops(handler: Handler) -> None:
    """Promises a body, sends half of it, and hangs up."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "x", ')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def echoes_key(handler: Handler) -> None:
    """As some gateways do: repeats the key in the error."""
    key = str(handler.headers["Authorization"])
    handler.send(401, json.dumps({"error": {"message": f"Incorrect API key provided: {key}"}}).encode())


def pauses_of(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Lists how long each pause between two tries is to be; none takes any time."""
    pauses: list[float] = []
    original = api._wait
    monkeypatch.setattr(api, "_wait", lambda state: pauses.append(original(state)) or 0.0)
    return pauses
