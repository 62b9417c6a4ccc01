"""Limits the size of provider responses while they are decompressed."""

from collections.abc import AsyncIterator

import httpx2
from pydantic_ai.models import Model

from palmette import _bounded


def bounded(model: Model) -> Model:
    """The model, with every response limited to `MOST` bytes.

    Models whose provider does not use `httpx2` (Amazon's) are returned unchanged.
    """
    provider = model.provider
    made, make = getattr(provider, "_own_http_client", None), getattr(provider, "_http_client_factory", None)
    if provider is not None and make is not None and isinstance(made, httpx2.AsyncClient):
        _watch(made)
        provider._http_client_factory = lambda: _watch(make())
    return model


def _watch(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    client.event_hooks = {**client.event_hooks, "response": [*client.event_hooks["response"], _take]}
    return client


async def _take(answer: httpx2.Response) -> None:
    """Counts the bytes of a response while it is read."""
    sent = httpx2.Response(answer.status_code, headers=answer.headers, stream=answer.stream, request=answer.request)
    answer.stream = _Counted(sent)
    answer.headers.pop("Content-Encoding", None)  # the limit applies to the decompressed body


class _Counted(httpx2.AsyncByteStream):
    """A decompressed response body; `OversizedAnswerError` if it is too long."""

    def __init__(self, sent: httpx2.Response) -> None:
        self._sent = sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._sent.aiter_bytes():
            size += len(part)
            if size > _bounded.MOST:
                raise _bounded.OversizedAnswerError
            yield part

    async def aclose(self) -> None:
        await self._sent.aclose()
