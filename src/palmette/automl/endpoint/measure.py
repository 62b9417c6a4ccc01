"""What is measured on a running endpoint and its project: each a `Measurement`, each failure a violation."""

from __future__ import annotations

import http
import importlib.util
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from palmette.automl.endpoint.answers import Answer, Row
from palmette.automl.endpoint.service import UNREADABLE, Reply, Service
from palmette.engine.actor import Measurement, Violation
from palmette.sandbox import Access, Limits, Sandbox, python_command
from palmette.sandbox.suite import Suite, run_suite

WARM_UP, REQUESTS = 10, 60
"""Requests for one row: before the clock counts, and after."""
TEST_SECONDS = 300.0
LOGGED = 0.2
"""Seconds after which a service has written down why it could not answer."""
LONGEST = 3_000
"""Characters of evidence."""
UNPROCESSABLE = 422


@dataclass(frozen=True)
class Asked:
    """Rows, and what the endpoint should say of them."""

    rows: list[Row]
    expected: list[Answer]
    """Of each row, by `predict.py`."""


@dataclass(frozen=True)
class Measured:
    """What came of measuring."""

    measurements: tuple[Measurement, ...] = ()
    violations: tuple[Violation, ...] = ()
    p50: float = 0.0
    """Milliseconds of a request for one row over HTTP, median."""
    p95: float = 0.0


class _Wrong(Exception):  # noqa: N818 - a value on its way to a violation
    """A check failed: code, message, evidence."""


def measure(service: Service, asked: Asked) -> Measured:
    """Asks a healthy service everything that is promised of it."""
    bench = _Bench(service, asked)
    checks: dict[str, Callable[[], str]] = {
        "answers": bench.singles,
        "batch answers": bench.batch,
        "bad requests": bench.bad_requests,
        "OpenAPI": bench.described,
    }
    if is_installed("gradio"):
        checks["page"] = bench.page
    done = [_measured(name, check, service) for name, check in checks.items()]
    skipped = [] if "page" in checks else [Measurement(name="page", status="skipped", detail="gradio is not installed")]
    p50, p95 = (round(_quantile(sorted(bench.milliseconds), share), 3) for share in (0.5, 0.95))
    violations = tuple(found for _, found in done if found)
    return Measured((*(one for one, _ in done), _latency(p50, p95), *skipped), violations, p50, p95)


def _latency(p50: float, p95: float) -> Measurement:
    if not p50:
        return Measurement(name="latency", status="skipped", detail="requests for one row fail")
    detail = f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, {REQUESTS} requests for one row"
    return Measurement(name="latency", status="passed", detail=detail)


def _measured(name: str, check: Callable[[], str], service: Service) -> tuple[Measurement, Violation | None]:
    started = time.monotonic()
    try:
        detail, wrong = check(), None
    except _Wrong as found:
        code, detail, evidence = found.args
        time.sleep(LOGGED)
        told = f"{evidence[:LONGEST]}\n{service.output()[-LONGEST:]}".strip()
        wrong = Violation(code=code, message=detail, evidence=told, subject="serve.py")
    except UNREADABLE as error:
        detail = f"The endpoint gave no answer that can be read: {type(error).__name__}: {error}"[:300]
        output = service.output()[-LONGEST:]
        wrong = Violation(code="endpoint-unhealthy", message=detail, evidence=output, subject="serve.py")
    seconds = round(time.monotonic() - started, 3)
    return Measurement(name=name, status="failed" if wrong else "passed", detail=detail, seconds=seconds), wrong


class _Bench:
    """The checks of one service; the requests for one row are answered once, compared and timed."""

    def __init__(self, service: Service, asked: Asked) -> None:
        self.service, self.asked = service, asked
        self.milliseconds: list[float] = []

    def singles(self) -> str:
        rows = islice(cycle(zip(self.asked.rows, self.asked.expected, strict=True)), WARM_UP + REQUESTS)
        for number, (row, expected) in enumerate(rows):
            reply = self.service.call("POST", "/predict", row)
            _compare(row, _answer(_ok(reply)), expected)
            if number >= WARM_UP:
                self.milliseconds.append(1000 * reply.seconds)
        return f"{WARM_UP + REQUESTS} requests for one row agree with predict.py"

    def batch(self) -> str:
        said = _ok(self.service.call("POST", "/predict/batch", {"rows": self.asked.rows}))
        if len(said) != len(self.asked.rows):
            raise _Wrong("predictions-differ", f"{len(self.asked.rows)} rows got {len(said)} answers.", "")
        for row, one, expected in zip(self.asked.rows, said, self.asked.expected, strict=True):
            _compare(row, _answer(one), expected)
        return f"{len(said)} rows of the training data in one request agree with predict.py"

    def bad_requests(self) -> str:
        """A value of a wrong type in each column, and a column that nobody knows."""
        row = self.asked.rows[0]
        unknown = "no such column"
        wrong: list[tuple[str, Mapping[str, object]]] = [(name, row | {name: ["a", "list"]}) for name in row]
        for field, bad in [*wrong, (unknown, row | {unknown: 1.0})]:
            reply = self.service.call("POST", "/predict", bad)
            named = [one["loc"][-1] for one in reply.data()["detail"]] if reply.status == UNPROCESSABLE else []
            if named != [field]:
                message = f"A wrong {field!r} got {reply.status} that names {named}, not 422 that names it."
                raise _Wrong("bad-request-accepted", message, reply.text)
        return f"{len(wrong) + 1} got 422 with the field"

    def described(self) -> str:
        described = _ok(self.service.call("GET", "/openapi.json"))
        missing = {"/health", "/predict", "/predict/batch"} - set(described["paths"])
        fields = list(described["components"]["schemas"]["Row"]["properties"])
        if missing or fields != list(self.asked.rows[0]):
            message = f"The description lacks {sorted(missing)} or has other columns than the contract: {fields}"
            raise _Wrong("openapi-missing", message, "")
        return f"{len(described['paths'])} paths, {len(fields)} fields of a row"

    def page(self) -> str:
        reply = self.service.call("GET", "/page/")
        if reply.status != http.HTTPStatus.OK or "gradio" not in reply.text:
            raise _Wrong("page-missing", f"The page got {reply.status}.", reply.text)
        return "the page for people is there"


def is_installed(package: str) -> bool:
    """Whether a package is there; a folder of that name in the current one is none."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def _ok(reply: Reply) -> Any:
    if reply.status != http.HTTPStatus.OK:
        raise _Wrong("endpoint-unhealthy", f"A good request got {reply.status}.", reply.text)
    return reply.data()


def _answer(said: Mapping[str, Any]) -> Answer:
    return Answer(said["prediction"], said.get("probabilities", {}))


def _compare(row: Row, said: Answer, expected: Answer) -> None:
    if not said.agrees(expected):
        message = f"The endpoint says {said.prediction!r} of a row, predict.py {expected.prediction!r}."
        raise _Wrong("predictions-differ", message, f"row: {row}\nendpoint: {said}\npredict.py: {expected}")


def _quantile(ordered: list[float], share: float) -> float:
    """Of at least two values; 0 where there are fewer."""
    return statistics.quantiles(ordered, n=100)[round(100 * share) - 1] if len(ordered) > 1 else 0.0


def of_tests(sandbox: Sandbox, folder: Path) -> tuple[Measurement, Violation | None]:
    """The project's own tests, run in its own folder, which stays as it is."""
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
    said = f"{suite.count} tests, {len(suite.failed)} failures, {len(suite.skipped)} skipped"
    if run.suite is None or run.doubt:
        said = run.doubt or f"it {done.ended} {done.note} without a record"
    seconds = round(done.seconds, 3)
    measured = Measurement(name="own tests", status="failed" if wrong else "passed", detail=said, seconds=seconds)
    if not wrong:
        return measured, None
    evidence = f"{done.stdout}\n{done.stderr}"[-LONGEST:]
    message = f"The project's own tests do not all pass: {said}."
    return measured, Violation(code="tests-failed", message=message, evidence=evidence, subject="tests")
