"""One server that speaks the protocols of all sources, from the cases of `sources.yaml`, and fails on demand."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("sources.yaml").read_text("utf-8"))
FAULTS: Mapping[str, tuple[int, dict[str, str], bytes]] = {
    "unauthorised": (401, {}, b'{"error": "no key"}'),
    "absent": (404, {}, b'{"error": "not found"}'),
    "busy": (429, {"retry-after": "120"}, b""),
    "broken": (503, {}, b"<html>"),
    "huge": (200, {}, b"[" + b"1," * (5 << 20)),
    "no json": (200, {"content-type": "text/html"}, b"<html>Sign in</html>"),
    "other shape": (200, {}, b'"a text"'),
}


@dataclass
class FakeWeb:
    """The server: what it answers, how it fails, and what it was asked."""

    url: str = ""
    answers: list[dict[str, Any]] = field(default_factory=list)
    fault: str = ""
    """Of `FAULTS`, `slow`, or `busy at first`."""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def answer(self, target: str, sent: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(target)
        if self.fault == "slow":
            time.sleep(0.5)
        if self.fault == "busy at first" and len(self.asked) == 1:
            return 429, {"retry-after": "0"}, b""
        if self.fault in FAULTS:
            return FAULTS[self.fault]
        parts, query = urlsplit(target), dict(parse_qsl(urlsplit(target).query))
        if parts.path in self.files:
            return 200, {}, self.files[parts.path]
        for one in self.answers:
            held = {**query, **sent}
            wanted = {**one.get("query", {}), **one.get("sent", {})}
            if one["path"] == parts.path and wanted.items() <= held.items():
                body = one["text"] if "text" in one else json.dumps(one["json"])
                given = {name: value.replace("{url}", self.url) for name, value in one.get("headers", {}).items()}
                return 200, given, body.replace("{url}", self.url).encode()
        return 404, {}, b"{}"


@contextmanager
def serving() -> Iterator[FakeWeb]:
    """The server, while it runs."""
    fake = FakeWeb()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            sent = {name.lower(): value for name, value in self.headers.items()}
            status, headers, body = fake.answer(self.path, sent)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - as http.server calls it

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that left is meant
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    yield fake
    server.shutdown()
    server.server_close()
