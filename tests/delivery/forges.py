"""A local server with the published request and response shapes of GitHub and GitLab; fails on demand."""

from __future__ import annotations

import gzip
import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Failure = int | str
"""A status, `drop` (no answer), `drop-after` (the work is done, the answer is lost), `hang`, `trickle`, `pages` without
an end, `endless` as it is unpacked, `rate` (a limit of requests), the address of another forge, to which it is
redirected, or such an address after `next:`, where the next page is said to be."""

SAYS = {
    401: "Bad credentials",
    403: "Resource not accessible by personal access token",
    404: "Not Found",
    429: "Too many requests",
    500: "Server Error",
    502: "Bad Gateway",
}


@dataclass
class ForgeServer:
    """State of the pretended forge, and a log of what was asked."""

    failures: list[tuple[str, Failure]] = field(default_factory=list)
    """Method and failure, used up in order; a method that is not next in line works."""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, path, headers."""
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    """As `failures`: what is sent instead of the answer, with its status."""
    hidden: int = 0
    """So many lists do not yet show what there is."""
    url: str = ""

    def __enter__(self) -> ForgeServer:
        outer = self

        class Handler(_Handler):
            forge = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, method: str) -> int:
        return sum(asked == method for asked, _, _ in self.requests)


class _Handler(BaseHTTPRequestHandler):
    forge: ForgeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        self.forge.requests.append((self.command, self.path, dict(self.headers)))
        failure: Failure | None = None
        if self.forge.failures and self.forge.failures[0][0] == self.command:
            failure = self.forge.failures.pop(0)[1]
        if failure == "hang":
            time.sleep(1)
        if failure in ("drop", "hang"):
            self.close_connection = True
            return
        if isinstance(failure, int):
            self.reply(failure, {"message": SAYS.get(failure, "Validation Failed"), "status": str(failure)})
            return
        if (isinstance(failure, str) and failure in ("trickle", "pages", "endless", "rate")) or "://" in str(failure):
            self.strangely(str(failure))
            return
        status, answer = (self.gitlab if self.path.startswith("/api/v4/") else self.github)(body)
        if failure == "drop-after":
            self.close_connection = True
            return
        if self.forge.bodies and self.forge.bodies[0][0] == self.command:
            answer = self.forge.bodies.pop(0)[1]
        self.reply(status, answer)

    def strangely(self, how: str) -> None:
        """Answers in a way that is not a failure by its status."""
        if how == "trickle":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(30):
                self.wfile.write(b" ")
                time.sleep(0.1)
        elif how == "pages":
            page = f"{self.forge.url}{urlsplit(self.path).path}?page={len(self.forge.requests)}"
            other = {"number": 1, "head": {"ref": "other"}, "iid": 1}
            self.reply(200, [other] if self.path.startswith("/repos") else [], Link=f'<{page}>; rel="next"')
        elif how.startswith("next:"):
            self.reply(200, [{"number": 1, "head": {"ref": "other"}, "iid": 1}], Link=f'<{how[5:]}>; rel="next"')
        elif how == "endless":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Connection", "close")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(gzip.compress(b" " * (2 << 20)))
            self.close_connection = True
        elif how == "rate":
            self.reply(403, {"message": "API rate limit exceeded for you."}, **{"X-RateLimit-Remaining": "0"})
        else:
            self.reply(302, {}, Location=f"{how}{self.path}")

    do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815 - the server's names

    def reply(self, status: int, answer: object, **headers: str) -> None:
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def github(self, body: dict[str, Any]) -> tuple[int, object]:
        forge, url = self.forge, urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        owner, name, *rest = url.path.removeprefix("/repos/").split("/")
        match self.command, rest:
            case "GET", ["pulls"]:
                return 200, self.listed(
                    lambda pull: f"{owner}:{pull['head']['ref']}" == query["head"] and query["state"] == "open"
                )
            case "POST", ["pulls"]:
                if any(pull["head"]["ref"] == body["head"] for pull in forge.pulls):
                    says = f"A pull request already exists for {owner}:{body['head']}."
                    error = {"resource": "PullRequest", "code": "custom", "message": says}
                    return 422, {"message": "Validation Failed", "errors": [error], "status": "422"}
                number = len(forge.pulls) + 1
                pull = {
                    "number": number,
                    "state": "open",
                    "title": body["title"],
                    "body": body["body"],
                    "draft": body.get("draft", False),
                    "url": f"{forge.url}/repos/{owner}/{name}/pulls/{number}",
                    "html_url": f"https://github.example/{owner}/{name}/pull/{number}",
                    "head": {"ref": body["head"], "label": f"{owner}:{body['head']}"},
                    "base": {"ref": body["base"]},
                }
                forge.pulls.append(pull)
                return 201, pull
            case "GET" | "PATCH", ["pulls", number]:
                pull = forge.pulls[int(number) - 1]
                pull.update(body)
                return 200, pull
        return 404, {"message": "Not Found", "status": "404"}

    def gitlab(self, body: dict[str, Any]) -> tuple[int, object]:
        forge, url = self.forge, urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        project, *rest = url.path.removeprefix("/api/v4/projects/").split("/")
        match self.command, rest:
            case "GET", ["merge_requests"]:
                return 200, self.listed(
                    lambda item: (
                        item["source_branch"] == query["source_branch"]
                        and item["target_branch"] == query["target_branch"]
                        and item["state"] == query["state"]
                    )
                )
            case "POST", ["merge_requests"]:
                if any(item["source_branch"] == body["source_branch"] for item in forge.pulls):
                    return 409, {"message": ["Another open merge request already exists for this source branch: !1"]}
                iid = len(forge.pulls) + 1
                forge.pulls.append(
                    {
                        "id": 9000 + iid,
                        "iid": iid,
                        "state": "opened",
                        **body,
                        "web_url": f"https://gitlab.example/{unquote(project)}/-/merge_requests/{iid}",
                    }
                )
                return 201, forge.pulls[-1]
            case "PUT", ["merge_requests", iid]:
                forge.pulls[int(iid) - 1].update(body)
                return 200, forge.pulls[int(iid) - 1]
        return 404, {"message": "404 Project Not Found"}

    def listed(self, wanted: Any) -> list[dict[str, Any]]:
        if self.forge.hidden:
            self.forge.hidden -= 1
            return []
        return [pull for pull in self.forge.pulls if wanted(pull)]
