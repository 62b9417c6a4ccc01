"""Rows as requests have them; checks of a running endpoint and its package, and its latency, measured once."""

from __future__ import annotations

import datetime as dt
import http
import importlib.util
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.automl.artefacts import Latency
from palmette.automl.endpoint.service import UNREADABLE, HttpReply, Service
from palmette.automl.measure import Predictions
from palmette.engine.actor import Measurement, Violation
from palmette.sandbox import Access, Limits, Sandbox, python_command
from palmette.sandbox.suite import Suite, run_suite

if TYPE_CHECKING:
    import pandas as pd

SINGLES = 20
"""Requests for one row that are compared."""
MOST_COLUMNS = 40
"""Columns, about, whose bad values are sent; of a wide table every so many."""
TEST_SECONDS = 300.0
LOGGED = 0.2
"""Seconds after which a service has logged why it could not answer."""
LONGEST = 3_000
"""Characters of evidence."""
UNPROCESSABLE = 422
PATHS = {"/health", "/predict", "/predict/batch"}
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""By which two answers to one row may differ: sums are taken in another order for many rows than for one."""
EXACT = 2**63
"""From which on not every reader of JSON takes a whole number; its digits are handed over."""

Row = dict[str, str | bool | float | None]
WARM_UP, BLOCKS, BLOCK = 20, 6, 20
"""Requests before the clock counts; blocks of requests after that, whose medians are the spread; requests in one."""
LEAST = 4
"""Requests in a block of an endpoint that is slow."""
SECONDS = 12.0
"""For all blocks together, about."""


class Checked(NamedTuple):
    """What came of the checks."""

    measurements: tuple[Measurement, ...] = ()
    violations: tuple[Violation, ...] = ()


class Exchange(NamedTuple):
    """A request, and its due answer."""

    body: Mapping[str, Any]
    answer: Any = None
    """The JSON of a good answer."""
    refused: frozenset[str] = frozenset()
    """The fields that the message names which refuses the body; empty for a good request."""
    path: str = "/predict"


class _Wrong(Exception):  # noqa: N818 - a value on its way to a violation
    """A check failed: code, message, evidence."""


def row_exchanges(rows: Sequence[Row], answers: Sequence[Any], numbers: Sequence[str] = ()) -> Iterator[Exchange]:
    """Rows one by one and in a batch; then an empty row, and for each column, or some of many, a row without it, with a
    list in it, and with a word in it where it is one of `numbers`."""
    yield from (Exchange(row, answer) for row, answer in zip(rows[:SINGLES], answers, strict=False))
    yield Exchange({"rows": rows}, list(answers), path="/predict/batch")
    row = rows[0]
    yield Exchange({}, refused=frozenset(row))
    for name in list(row)[:: max(1, len(row) // MOST_COLUMNS)]:
        yield Exchange({other: value for other, value in row.items() if other != name}, refused=frozenset({name}))
        yield Exchange({**row, name: ["a", "list"]}, refused=frozenset({name}))
    for name in numbers[:: max(1, len(numbers) // MOST_COLUMNS)]:
        yield Exchange({**row, name: "no number"}, refused=frozenset({name}))


def exchanges(field: str, rows: list[Row], answer: Any, numbers: Sequence[str]) -> Iterator[Exchange]:
    """Rows that are answered together; then without a column of numbers, with a word in it, and without any rows."""
    yield Exchange({field: rows}, answer)
    for name in numbers[:1]:
        absent = [{key: one[key] for key in one if key != name} for one in rows]
        yield Exchange({field: absent}, refused=frozenset({name}))
        yield Exchange({field: [{**rows[0], name: "no number"}, *rows[1:]]}, refused=frozenset({name}))
    yield Exchange({}, refused=frozenset({field}))


def check_endpoint(service: Service, requests: Iterable[Exchange]) -> Checked:
    """Makes all exchanges with a healthy service; where it answers rows, its description must name their columns."""
    asked = list(requests)
    batches = [one for one in asked if one.path != "/predict"]
    checks: dict[str, Callable[[], str]] = {
        "answers": lambda: _answered(service, [one for one in asked if not one.refused and one not in batches]),
        "bad requests": lambda: _refused(service, [one for one in asked if one.refused]),
    }
    if batches:
        checks["batch answers"] = lambda: _answered(service, batches)
        checks["OpenAPI"] = lambda: _described(service, batches[0].body["rows"][0])
    done = [_measured(name, check, service) for name, check in checks.items()]
    return Checked(tuple(one for one, _ in done), tuple(found for _, found in done if found))


def _measured(name: str, check: Callable[[], str], service: Service) -> tuple[Measurement, Violation | None]:
    started, code, evidence = time.monotonic(), "", ""
    try:
        detail = check()
    except _Wrong as found:
        code, detail, evidence = found.args
        time.sleep(LOGGED)
    except UNREADABLE as error:
        code = "endpoint-unhealthy"
        detail = f"The endpoint gave no answer that can be read: {type(error).__name__}: {error}"[:300]
    seconds = round(time.monotonic() - started, 3)
    measured = Measurement(name=name, status="failed" if code else "passed", detail=detail, seconds=seconds)
    if not code:
        return measured, None
    evidence = f"{evidence[:LONGEST]}\n{service.output()[-LONGEST:]}".strip()
    return measured, Violation(code=code, message=detail, evidence=evidence, subject="serve.py")


def _answered(service: Service, good: Sequence[Exchange]) -> str:
    for one in good:
        made = _ok(service.call("POST", one.path, one.body))
        if not agree(made, one.answer):
            evidence = f"request: {one.body}\nendpoint: {made}\npredict.py: {one.answer}"
            raise _Wrong("predictions-differ", "The endpoint answers otherwise than predict.py.", evidence)
    return f"{len(good)} requests agree with predict.py"


def _refused(service: Service, bad: Sequence[Exchange]) -> str:
    for one in bad:
        reply = service.call("POST", one.path, one.body)
        named = {part["loc"][-1] for part in reply.data()["detail"]} if reply.status == UNPROCESSABLE else set()
        if named != one.refused:
            wrong = f"A request with wrong {sorted(one.refused)} got {reply.status}"
            message = f"{wrong} that names {sorted(named)}, not them."
            raise _Wrong("bad-request-accepted", message, reply.text)
    return f"{len(bad)} got 422 with the column"


def _described(service: Service, row: Row) -> str:
    described = _ok(service.call("GET", "/openapi.json"))
    missing = PATHS - set(described["paths"])
    body = described["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    fields = list(body["properties"])
    if missing or {*fields} != {*row}:
        message = f"The description lacks {sorted(missing)} or has other columns than the file: {fields}"
        raise _Wrong("openapi-missing", message, "")
    return f"{len(described['paths'])} paths, {len(fields)} fields of a row"


def is_installed(package: str) -> bool:
    """Whether a package is there; a folder of that name in the current one is none."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def _ok(reply: HttpReply) -> Any:
    if reply.status != http.HTTPStatus.OK:
        raise _Wrong("endpoint-unhealthy", f"A good request got {reply.status}.", reply.text)
    return reply.data()


def of_tests(sandbox: Sandbox, folder: Path) -> tuple[Measurement, Violation | None]:
    """The package's own tests, run in its own folder, which stays as it is."""
    if not is_installed("pytest"):
        return Measurement(name="own tests", status="skipped", detail="pytest is not installed"), None
    run = run_suite(
        sandbox,
        python_command("-m", "pytest", "-q", "--tb=short"),
        cwd=folder,
        access=Access(read=(folder,)),
        env={"PYTHONPATH": str(folder)},
        limits=Limits(seconds=TEST_SECONDS),
    )
    done, suite = run.execution, run.suite or Suite()
    wrong = not done.ok or bool(run.doubt) or len(suite.passed) < max(1, suite.count)
    detail = f"{suite.count} tests, {len(suite.failed)} failures, {len(suite.skipped)} skipped"
    if run.suite is None or run.doubt:
        detail = run.doubt or f"it {done.ended} {done.note} without a record"
    seconds = round(done.seconds, 3)
    measured = Measurement(name="own tests", status="failed" if wrong else "passed", detail=detail, seconds=seconds)
    if not wrong:
        return measured, None
    evidence = f"{done.stdout}\n{done.stderr}"[-LONGEST:]
    message = f"The package's own tests do not all pass: {detail}."
    return measured, Violation(code="tests-failed", message=message, evidence=evidence, subject="tests")


def agree(made: Any, due: Any) -> bool:
    """Whether two answers as JSON are the same, up to the last digits of numbers; 3 is the class "3"."""
    match made, due:
        case dict(), dict():
            return made.keys() == due.keys() and all(agree(value, due[name]) for name, value in made.items())
        case list(), list():
            return len(made) == len(due) and all(map(agree, made, due))
        case (bool(), _) | (_, bool()):
            return made is due
        case int(), str():
            return str(made) == due
        case int() | float(), int() | float():
            return math.isclose(made, due, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        case _:
            return bool(made == due)


def rows_of_requests(rows: pd.DataFrame) -> list[Row]:
    """Rows as JSON objects; what is missing or infinite is None."""
    columns = {str(name): [plain(value) for value in rows[name]] for name in rows}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def plain(value: Any) -> str | bool | float | None:
    """A cell as JSON."""
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        whole = int(value)
        return whole if abs(whole) < EXACT else str(whole)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dt.timedelta | np.timedelta64):
        return pd.Timedelta(value).total_seconds()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict | list | tuple | np.ndarray):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def answers_of(made: Predictions) -> list[dict[str, Any]]:
    """Predictions as the endpoint's answers to single rows."""
    if made.probabilities is None:
        return [{"prediction": float(value)} for value in made.values]
    chances = [dict(zip(made.classes, map(float, row), strict=True)) for row in made.probabilities]
    return [{"prediction": str(one), "probabilities": row} for one, row in zip(made.values, chances, strict=True)]


def measure_latency(service: Service, rows: Sequence[Mapping[str, Any]]) -> Latency:
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


def _milliseconds(service: Service, row: Mapping[str, Any]) -> float:
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
