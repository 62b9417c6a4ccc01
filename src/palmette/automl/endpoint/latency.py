"""How long the endpoint takes to answer a request for one row: measured once, after a warm-up, with its spread."""

from __future__ import annotations

import http
import statistics
import time
from collections.abc import Sequence
from itertools import cycle, islice

from palmette.automl.artefacts import Latency
from palmette.automl.endpoint.answers import Row
from palmette.automl.endpoint.service import Service

WARM_UP, BLOCKS, BLOCK = 20, 6, 20
"""Requests before the clock counts; blocks of requests after that, whose medians are the spread; requests in one."""
LEAST = 4
"""Requests in a block of an endpoint that is slow."""
SECONDS = 12.0
"""For all blocks together, about."""


def measure_latency(service: Service, rows: Sequence[Row]) -> Latency:
    """Milliseconds of requests for one row, over HTTP, one after the other.

    Raises:
        OSError, http.client.HTTPException: the endpoint does not answer.
        ValueError: it refuses a row.
    """
    requests = cycle(rows)
    warm = statistics.median(_milliseconds(service, row) for row in islice(requests, WARM_UP))
    block = min(BLOCK, max(LEAST, int(SECONDS * 1000 / BLOCKS / max(warm, 0.001))))
    blocks = [[_milliseconds(service, row) for row in islice(requests, block)] for _ in range(BLOCKS)]
    every = [one for block in blocks for one in block]
    medians = [statistics.median(block) for block in blocks]
    p95 = statistics.quantiles(every, n=100)[94]
    values = (statistics.median(every), p95, min(medians), max(medians))
    p50, p95, low, high = (round(value, 3) for value in values)
    return Latency(p50=p50, p95=p95, low=low, high=high, requests=len(every))


def _milliseconds(service: Service, row: Row) -> float:
    reply = service.call("POST", "/predict", row)
    if reply.status != http.HTTPStatus.OK:
        raise ValueError(f"a request for one row got {reply.status}: {reply.text[:300]}")
    return 1000 * reply.seconds


def measure_batch(service: Service, rows: Sequence[Row], size: int = 5_000) -> float:
    """Seconds to predict all rows in requests of `size` rows; raises as `measure_latency`."""
    started = time.perf_counter()
    for start in range(0, len(rows), size):
        reply = service.call("POST", "/predict/batch", {"rows": list(rows[start : start + size])})
        if reply.status != http.HTTPStatus.OK:
            raise ValueError(f"a batch of rows got {reply.status}: {reply.text[:300]}")
    return time.perf_counter() - started
