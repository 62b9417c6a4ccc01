"""HTTP responses limited in decompressed size and total time."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

MOST = 8 << 20  # maximum bytes of a response; typical large ones have a tenth of it
DECODED = ("content-encoding", "content-length", "transfer-encoding")
"""Headers of the body as it was sent, not as it is given on."""


class OversizedAnswerError(Exception):
    """A response has more than `MOST` bytes."""

    def __init__(self) -> None:
        super().__init__(f"The answer is longer than {MOST >> 20} MiB, and was not read to its end")


def fetch(method: str, url: str, seconds: float, **request: Any) -> httpx.Response:
    """The response of a URL, whatever its status; `request` is passed to `httpx.stream`.

    Raises:
        httpx.HTTPError, httpx.InvalidURL: There is no response.
        OversizedAnswerError: It is too long.
        TimeoutError: It takes too long, however steadily it arrives.
    """
    import httpx

    answer: Future[httpx.Response] = Future()

    def work() -> None:
        try:
            with httpx.stream(method, url, timeout=seconds, follow_redirects=True, **request) as response:
                body = bytearray()
                for part in response.iter_bytes():
                    body += part
                    if len(body) > MOST:
                        raise OversizedAnswerError
            headers = [pair for pair in response.headers.multi_items() if pair[0] not in DECODED]
            answer.set_result(
                httpx.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
            )
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits for the response
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise TimeoutError(f"no end after {seconds:g} s") from None
