"""Counts and times the requests of a web application; GET /metrics shows them to Prometheus."""

from collections import Counter
from time import perf_counter
from typing import Any

from fastapi.responses import PlainTextResponse

NAME, BOUNDS = "http_request_duration_seconds", (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, "+Inf")
counts: Counter[str] = Counter()


async def measured(request: Any, call_next: Any) -> Any:
    if request.url.path == "/metrics":
        return PlainTextResponse(f"# TYPE {NAME} histogram\n" + "".join(f"{one} {n}\n" for one, n in counts.items()))
    start, answer = perf_counter(), None
    try:
        answer = await call_next(request)
        return answer
    finally:
        path, status = getattr(request.scope.get("route"), "path", "other"), answer.status_code if answer else 500
        labels, seconds = f'path="{path}",status="{status}"', perf_counter() - start
        counts.update({f'{NAME}_bucket{{{labels},le="{one}"}}': seconds <= float(one) for one in BOUNDS})
        counts.update({f"{NAME}_sum{{{labels}}}": seconds, f"{NAME}_count{{{labels}}}": 1})
