"""What comes back over `requests`, of forges and collectors: bounded in bytes, as it is unpacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter

MOST = 8 << 20
"""Bytes of one answer; a page of a hundred pull requests has a tenth of it."""


class EndlessError(requests.RequestException):
    """What comes back is too long for an answer."""

    def __init__(self) -> None:
        super().__init__(f"What came back is longer than {MOST >> 20} MiB, and was not read to its end")


class Bounded(HTTPAdapter):
    """Connections whose answers are read no further than `MOST`, else they are an `EndlessError`."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        resp.stream = partial(_counted, resp, resp.stream)
        return super().build_response(req, resp)


def bounded_session() -> requests.Session:
    """A session over such connections."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, Bounded())
    return session


def _counted(response: Any, stream: Callable[..., Iterator[bytes]], *given: Any, **named: Any) -> Iterator[bytes]:
    size = 0
    for part in stream(*given, **named):
        size += len(part)
        if size > MOST:
            response.close()
            raise EndlessError
        yield part
