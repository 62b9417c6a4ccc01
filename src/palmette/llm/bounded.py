"""What comes back from a provider: bounded in bytes, as it is unpacked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
from pydantic_ai.models import Model

from palmette import _bounded


def bounded(model: Model) -> Model:
    """The model; of what it is sent, over connections of now and later, it takes no more than `MOST`.

    One whose provider does not speak over `httpx2` stays as it is (Amazon's).
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


async def _take(response: httpx2.Response) -> None:
    """Has the body of an answer counted as it is read."""
    sent = httpx2.Response(
        response.status_code, headers=response.headers, stream=response.stream, request=response.request
    )
    response.stream = _Counted(sent)
    response.headers.pop("Content-Encoding", None)  # what is counted is unpacked


class _Counted(httpx2.AsyncByteStream):
    """The body of an answer, unpacked; one that is too long is an `OversizedAnswerError`."""

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
