"""Checks of a running endpoint against `predict.py`, its latency, and the package's own tests."""

import datetime as dt
import http
import math
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from palmette.automl.artefacts import Latency
from palmette.automl.endpoint.service import UNREADABLE, HttpReply, Service
from palmette.automl.measure.metrics import Predictions
from palmette.automl.project.built import surroundings
from palmette.automl.samples.values import text_of
from palmette.engine.actor import Measurement, Violation
from palmette.sandbox import Limits, Sandbox, python_command
from palmette.sandbox.suite import Suite, run_suite

SINGLES = 20  # requests for single rows that are compared with `predict.py`
MOST_COLUMNS = 40  # about how many columns of a wide table get bad values in requests
TEST_SECONDS = 300.0
LOGGED = 0.2  # seconds that a service is given to log why a request failed
LONGEST = 3_000  # characters of evidence in a violation
UNPROCESSABLE = 422
PATHS = {"/health", "/predict", "/predict/batch"}
RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""Tolerance between two answers to one row: networks add in single precision, in an order that depends on the number of
rows."""
EXACT = 2**63  # integers from here on are sent as text, as some JSON readers refuse them

Row = dict[str, str | bool | float | None]
WARM_UP, BLOCKS, BLOCK = 20, 6, 20
"""Most requests that are not timed; then blocks of timed ones, whose medians give the spread; requests in a block."""
SECONDS = 12.0  # approximate time for all blocks together
LEAST, PART_SECONDS = 4, 4.0
"""Requests of a part of the checks that are made however slow the endpoint is, and the time for the others."""


T = TypeVar("T")


class Exchange(NamedTuple):
    """A request and the expected answer."""

    body: Mapping[str, Any]
    answer: Any = None  # the expected JSON
    refused: frozenset[str] = frozenset()
    """The fields that the 422 answer must name; empty for a valid request."""
    path: str = "/predict"


class _CheckFailed(Exception):  # noqa: N818 - becomes a violation
    """Code, message and evidence of a failed check."""


def row_exchanges(rows: Sequence[Row], answers: Sequence[Any], numbers: Sequence[str] = ()) -> Iterator[Exchange]:
    """Requests for single rows, for a batch, and invalid ones.

    An invalid row is empty, lacks a column, has a list in it, or has a word in a column of `numbers`. A slow endpoint
    gets fewer requests.
    """
    yield from in_time(Exchange(row, answer) for row, answer in zip(rows[:SINGLES], answers, strict=False))
    yield Exchange({"rows": rows}, list(answers), path="/predict/batch")
    row = rows[0]
    yield Exchange({}, refused=frozenset(row))
    for name in in_time(list(row)[:: max(1, len(row) // MOST_COLUMNS)]):
        yield Exchange({other: value for other, value in row.items() if other != name}, refused=frozenset({name}))
        yield Exchange({**row, name: ["a", "list"]}, refused=frozenset({name}))
    some = numbers[:: max(1, len(numbers) // MOST_COLUMNS)]
    yield from in_time(Exchange({**row, name: "no number"}, refused=frozenset({name})) for name in some)


def in_time(requests: Iterable[T], seconds: float = PART_SECONDS, least: int = LEAST) -> Iterator[T]:
    """The first `least` requests, and as many others as can be made in time."""
    end = time.monotonic() + seconds
    for place, one in enumerate(requests):
        if place >= least and time.monotonic() > end:
            return
        yield one


def exchanges(field: str, rows: list[Row], answer: Any, numbers: Sequence[str]) -> Iterator[Exchange]:
    """A request for rows that are answered together, and invalid ones: no column, a word for a number, no rows."""
    yield Exchange({field: rows}, answer)
    for name in dict.fromkeys((*list(rows[0])[:1], *numbers[:1])):
        absent = [{key: one[key] for key in one if key != name} for one in rows]
        yield Exchange({field: absent}, refused=frozenset({name}))
    for name in numbers[:1]:
        yield Exchange({field: [{**rows[0], name: "no number"}, *rows[1:]]}, refused=frozenset({name}))
    yield Exchange({}, refused=frozenset({field}))


def check_endpoint(service: Service, requests: Iterable[Exchange]) -> tuple[Violation, ...]:
    """Makes all exchanges with a healthy service; returns the first failure, if any.

    The OpenAPI description must name the columns of a batch's rows.
    """
    evidence = ""
    try:
        for one in requests:
            (_require_refused if one.refused else _require_answer)(service, one)
            if one.path != "/predict":
                _require_described(service, one.body["rows"][0])
    except _CheckFailed as found:
        code, message, evidence = found.args
        time.sleep(LOGGED)
    except UNREADABLE as error:
        code = "endpoint-unhealthy"
        message = f"The endpoint gave no answer that can be read: {type(error).__name__}: {error}"[:300]
    else:
        return ()
    evidence = f"{evidence[:LONGEST]}\n{service.output()[-LONGEST:]}".strip()
    return (Violation(code=code, message=message, evidence=evidence, subject="serve.py"),)


def _require_answer(service: Service, one: Exchange) -> None:
    made = _ok(service.call("POST", one.path, one.body))
    if not agree(made, one.answer):
        evidence = f"request: {one.body}\nendpoint: {made}\npredict.py: {one.answer}"
        raise _CheckFailed("predictions-differ", "The endpoint and predict.py disagree.", evidence)


def _require_refused(service: Service, one: Exchange) -> None:
    reply = service.call("POST", one.path, one.body)
    named = {part["loc"][-1] for part in reply.data()["detail"]} if reply.status == UNPROCESSABLE else set()
    if named != one.refused:
        wrong = f"A request with wrong {sorted(one.refused)} got {reply.status}"
        raise _CheckFailed("bad-request-accepted", f"{wrong} that names {sorted(named)}, not them.", reply.text)


def _require_described(service: Service, row: Row) -> None:
    paths = _ok(service.call("GET", "/openapi.json"))["paths"]
    fields = paths["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    missing = PATHS - {*paths}
    if missing or {*fields} != {*row}:
        message = f"The OpenAPI description lacks {sorted(missing)} or has other columns than the file: {[*fields]}"
        raise _CheckFailed("openapi-missing", message, "")


def _ok(reply: HttpReply) -> Any:
    if reply.status != http.HTTPStatus.OK:
        raise _CheckFailed("endpoint-unhealthy", f"A good request got {reply.status}.", reply.text)
    return reply.data()


def of_tests(sandbox: Sandbox, folder: Path) -> tuple[Measurement, Violation | None]:
    """Runs the package's own tests; its folder stays unchanged."""
    # Where it is installed, the plug-in imports all of Hypothesis to end a run.
    command = python_command("-m", "pytest", "-q", "--tb=short", "-p", "no:hypothesispytest")
    run = run_suite(sandbox, command, cwd=folder, limits=Limits(seconds=TEST_SECONDS), **surroundings(folder))
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
    """Whether two JSON answers are equal up to rounding; 3 equals the class "3"."""
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
    """Rows as JSON objects; missing and infinite values are None."""
    columns = {str(name): [plain(value) for value in rows[name]] for name in rows}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def plain(value: Any) -> str | bool | float | None:
    """The JSON value of a cell."""
    value = value.item() if isinstance(value, np.bool_ | np.number) else value
    match value:
        case bool():
            return value
        case int():
            return value if abs(value) < EXACT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case dt.timedelta():
            return value.total_seconds()
        case _:
            return text_of(value)


def answers_of(made: Predictions) -> list[dict[str, Any]]:
    """The answers that the endpoint should give to single rows."""
    if made.probabilities is None:
        return [{"prediction": float(value)} for value in made.values]
    shares = [dict(zip(made.classes, map(float, row), strict=True)) for row in made.probabilities]
    return [{"prediction": str(one), "probabilities": row} for one, row in zip(made.values, shares, strict=True)]


def measure_latency(service: Service, rows: Sequence[Mapping[str, Any]]) -> Latency:
    """Milliseconds of single-row requests over HTTP, one after the other."""
    requests = cycle(rows)
    warm = statistics.median(_milliseconds(service, row) for row in in_time(islice(requests, WARM_UP)))
    block = min(BLOCK, max(LEAST, int(SECONDS * 1000 / BLOCKS / max(warm, 0.001))))
    blocks = [[_milliseconds(service, row) for row in islice(requests, block)] for _ in range(BLOCKS)]
    medians, every = [statistics.median(block) for block in blocks], [one for block in blocks for one in block]
    p95 = statistics.quantiles(every, n=100)[94]
    p50, p95, low, high = (round(value, 3) for value in (statistics.median(every), p95, min(medians), max(medians)))
    return Latency(p50=p50, p95=p95, low=low, high=high, requests=len(every))


def _milliseconds(service: Service, row: Mapping[str, Any]) -> float:
    return 1000 * answered(service, "/predict", row).seconds


def answered(service: Service, path: str, body: Mapping[str, Any]) -> HttpReply:
    """The answer to a request; raises ValueError where it is refused."""
    reply = service.call("POST", path, body)
    if reply.status != http.HTTPStatus.OK:
        raise ValueError(f"a request to {path} got {reply.status}: {reply.text[:300]}")
    return reply


def measure_batch(service: Service, rows: Sequence[Row], size: int = 5_000) -> float:
    """Seconds to predict all rows in requests of `size` rows; raises as `measure_latency`."""
    started = time.perf_counter()
    for start in range(0, len(rows), size):
        answered(service, "/predict/batch", {"rows": list(rows[start : start + size])})
    return time.perf_counter() - started
