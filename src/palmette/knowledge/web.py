"""Requests to online sources: bounded in time and bytes, cached on disk, repeated for a busy server, off by default.

Only the trusted process makes them. Secrets go into no message and no cache key.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from palmette._bounded import OversizedAnswerError, fetch
from palmette.engine.storage import write_whole
from palmette.errors import MachineError, UserError

SWITCH = "PALMETTE_KNOWLEDGE"
"""The variable that turns online sources on: `all`, or their names with commas between them."""
SECONDS = 10.0  # for one request, with all its repetitions
ATTEMPTS = 3
FIRST_PAUSE = 0.5  # seconds before the first repetition, unless the server names a time; doubled each time
FRESH = 7 * 86400.0
"""Seconds for which a cached answer is used. An older one is used only when the server cannot be reached."""
BUSY = (429, 500, 502, 503, 504)
Params = Mapping[str, str | int]
Headers = Mapping[str, str]
NONE: Mapping[str, Any] = MappingProxyType({})


class WebResponse(NamedTuple):
    """A successful answer."""

    body: bytes
    next: str = ""  # address of the next page, where the header `Link` names one

    def json(self, source: str) -> Any:
        """The body as JSON; MachineError if it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise unusable(source, "the answer is not JSON") from error


def cache_folder(name: str) -> Path:
    """A folder of this name in the user's cache, which is made where there is none."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palmette" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def is_on(source: str) -> bool:
    """Whether an online source may be asked."""
    wanted = {name.strip() for name in os.environ.get(SWITCH, "").split(",")}
    return bool(wanted & {source, "all", "1"})


def unusable(source: str, why: str, remedy: str = "Try again later, or name what you need yourself.") -> MachineError:
    """The one error of a source that gives no usable answer."""
    return MachineError(f"The source {source!r} could not be used: {why}.", remedy, code="source-unusable")


def get(source: str, url: str, params: Params = NONE, headers: Headers = NONE, key: Params = NONE) -> WebResponse:
    """The answer to a GET request; `key` has parameters that are secret.

    Raises:
        UserError: the source asks for a key (`source-key`), or has no such entry (`no-such-record`).
        MachineError: it cannot be reached, is busy, or answers too slowly or at too great a length.
    """
    address = _address(url, params)
    cached = cache_folder("knowledge") / hashlib.sha256(address.encode()).hexdigest()
    if (known := _cached(cached)) and time.time() - cached.stat().st_mtime < FRESH:
        return known
    try:
        found = _asked(source, "GET", _address(address, key), headers=dict(headers))
    except MachineError:
        if known:
            return known
        raise
    with suppress(OSError):  # a full disk only costs the cache
        write_whole(cached, json.dumps(found.next).encode() + b"\n" + found.body)
    return found


def _address(url: str, params: Params) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(params)}" if params else url


def post(source: str, url: str, body: Mapping[str, Any], headers: Headers) -> WebResponse:
    """The answer to a POST request with a JSON body; not cached. Raises as `get`."""
    return _asked(source, "POST", url, json=dict(body), headers=dict(headers))


def download(source: str, url: str, path: Path, most: int, headers: Headers = NONE) -> None:
    """Writes a file of at most `most` bytes. Raises as `get`."""
    import httpx

    size, part = 0, path.with_name(f".{path.name}.{os.getpid()}")
    end = time.monotonic() + SECONDS * 60
    try:
        with (
            httpx.stream("GET", url, timeout=SECONDS, follow_redirects=True, headers=dict(headers)) as answer,
            part.open("wb") as file,
        ):
            _require_success(source, answer.status_code, urlsplit(url).hostname or url)
            for block in answer.iter_bytes(1 << 20):
                size += len(block)
                if size > most or time.monotonic() > end:
                    why = f"{url!r} has more than {most >> 20} MiB" if size > most else f"{url!r} arrives too slowly"
                    raise unusable(source, why)
                file.write(block)
        part.replace(path)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unusable(source, f"{url!r} gave {type(error).__name__}") from error
    finally:
        part.unlink(missing_ok=True)


def _asked(source: str, method: str, address: str, **request: Any) -> WebResponse:
    """The answer of a server that may be busy at first."""
    import httpx

    host, end = urlsplit(address).hostname or address, time.monotonic() + SECONDS
    request["headers"]["user-agent"] = "palmette"
    for attempt in range(ATTEMPTS):
        try:
            answer = fetch(method, address, max(end - time.monotonic(), 0.1), **request)
        except (OSError, httpx.HTTPError, httpx.InvalidURL, OversizedAnswerError, ValueError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise unusable(source, f"{host} gave {type(error).__name__}: {reason}") from error
        named = answer.headers.get("retry-after", "")
        pause = float(named) if named.isdecimal() else FIRST_PAUSE * 2**attempt
        late = time.monotonic() + pause > end or attempt == ATTEMPTS - 1
        if answer.status_code not in BUSY or late:
            _require_success(source, answer.status_code, host, pause)
            return WebResponse(answer.content, str(answer.links.get("next", {}).get("url", "")))
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _require_success(source: str, status: int, host: str, pause: float = 0.0) -> None:
    if status in (401, 403):
        message = f"The source {source!r} refuses the request: {host} answered {status}."
        raise UserError(message, "Set its key, see `palmette search --help`.", code="source-key")
    if status in (404, 410, 412):
        raise UserError(f"{host} has no such entry ({status}).", "Search for it first.", code="no-such-record")
    if status == 429:
        raise unusable(source, f"{host} answered 429, too many requests", f"Wait {pause:.0f} seconds and try again.")
    if not 200 <= status < 300:
        raise unusable(source, f"{host} answered {status}")


def _cached(path: Path) -> WebResponse | None:
    try:
        head, _, body = path.read_bytes().partition(b"\n")
        return WebResponse(body, str(json.loads(head)))
    except (OSError, ValueError):
        return None
