"""Checks of a running endpoint and of its package: each a `Measurement`, each failure a violation."""

from __future__ import annotations

import http
import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from palmette.automl.endpoint.answers import Answer, Row
from palmette.automl.endpoint.service import UNREADABLE, Reply, Service
from palmette.engine.actor import Measurement, Violation
from palmette.sandbox import Access, Limits, Sandbox, python_command
from palmette.sandbox.suite import Suite, run_suite

SINGLES = 20
"""Requests for one row that are compared."""
TEST_SECONDS = 300.0
LOGGED = 0.2
"""Seconds after which a service has written down why it could not answer."""
LONGEST = 3_000
"""Characters of evidence."""
UNPROCESSABLE = 422
PATHS = {"/health", "/predict", "/predict/batch"}


@dataclass(frozen=True)
class Expected:
    """Rows, and the answers that the endpoint should give."""

    rows: list[Row]
    """As the user's file has them."""
    answers: list[Answer]
    """To each row, by `predict.py`."""
    numbers: tuple[str, ...] = ()
    """Columns that refuse a word."""


@dataclass(frozen=True)
class Checked:
    """What came of the checks."""

    measurements: tuple[Measurement, ...] = ()
    violations: tuple[Violation, ...] = ()


class _Wrong(Exception):  # noqa: N818 - a value on its way to a violation
    """A check failed: code, message, evidence."""


def check_endpoint(service: Service, expected: Expected) -> Checked:
    """Asks a healthy service everything that is promised of it."""
    checks: Mapping[str, Callable[[Service, Expected], str]] = {
        "answers": _singles,
        "batch answers": _batch,
        "bad requests": _bad_requests,
        "OpenAPI": _described,
    }
    done = [_measured(name, check, service, expected) for name, check in checks.items()]
    return Checked(tuple(one for one, _ in done), tuple(found for _, found in done if found))


def _measured(
    name: str, check: Callable[[Service, Expected], str], service: Service, expected: Expected
) -> tuple[Measurement, Violation | None]:
    started = time.monotonic()
    try:
        detail, wrong = check(service, expected), None
    except _Wrong as found:
        code, detail, evidence = found.args
        time.sleep(LOGGED)
        evidence = f"{evidence[:LONGEST]}\n{service.output()[-LONGEST:]}".strip()
        wrong = Violation(code=code, message=detail, evidence=evidence, subject="serve.py")
    except UNREADABLE as error:
        detail = f"The endpoint gave no answer that can be read: {type(error).__name__}: {error}"[:300]
        output = service.output()[-LONGEST:]
        wrong = Violation(code="endpoint-unhealthy", message=detail, evidence=output, subject="serve.py")
    seconds = round(time.monotonic() - started, 3)
    return Measurement(name=name, status="failed" if wrong else "passed", detail=detail, seconds=seconds), wrong


def _singles(service: Service, expected: Expected) -> str:
    for row, answer in islice(zip(expected.rows, expected.answers, strict=True), SINGLES):
        _compare(row, _answer(_ok(service.call("POST", "/predict", row))), answer)
    return f"{min(SINGLES, len(expected.rows))} requests for one row agree with predict.py"


def _batch(service: Service, expected: Expected) -> str:
    made = _ok(service.call("POST", "/predict/batch", {"rows": expected.rows}))
    if len(made) != len(expected.rows):
        raise _Wrong("predictions-differ", f"{len(expected.rows)} rows got {len(made)} answers.", "")
    for row, one, answer in zip(expected.rows, made, expected.answers, strict=True):
        _compare(row, _answer(one), answer)
    return f"{len(made)} rows in one request agree with predict.py"


def _bad_requests(service: Service, expected: Expected) -> str:
    """Nothing at all, each column missing, a list in each column, a word in each column of numbers."""
    row = expected.rows[0]
    bad: list[tuple[set[str], Mapping[str, object]]] = [(set(row), {})]
    for name in row:
        bad.append(({name}, {other: value for other, value in row.items() if other != name}))
        bad.append(({name}, {**row, name: ["a", "list"]}))
    bad += [({name}, {**row, name: "no number"}) for name in expected.numbers]
    for fields, body in bad:
        reply = service.call("POST", "/predict", body)
        named = {one["loc"][-1] for one in reply.data()["detail"]} if reply.status == UNPROCESSABLE else set()
        if named != fields:
            message = f"A request with wrong {sorted(fields)} got {reply.status} that names {sorted(named)}, not them."
            raise _Wrong("bad-request-accepted", message, reply.text)
    return f"{len(bad)} got 422 with the column"


def _described(service: Service, expected: Expected) -> str:
    described = _ok(service.call("GET", "/openapi.json"))
    missing = PATHS - set(described["paths"])
    body = described["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    fields = list(body["properties"])
    if missing or fields != list(expected.rows[0]):
        message = f"The description lacks {sorted(missing)} or has other columns than the file: {fields}"
        raise _Wrong("openapi-missing", message, "")
    return f"{len(described['paths'])} paths, {len(fields)} fields of a row"


def is_installed(package: str) -> bool:
    """Whether a package is there; a folder of that name in the current one is none."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def _ok(reply: Reply) -> Any:
    if reply.status != http.HTTPStatus.OK:
        raise _Wrong("endpoint-unhealthy", f"A good request got {reply.status}.", reply.text)
    return reply.data()


def _answer(made: Mapping[str, Any]) -> Answer:
    """Classes that are whole numbers are text here, as in files of predictions."""
    prediction, probabilities = made["prediction"], made.get("probabilities", {})
    return Answer(str(prediction) if probabilities else prediction, probabilities)


def _compare(row: Row, made: Answer, expected: Answer) -> None:
    if not made.agrees(expected):
        message = f"The endpoint predicts {made.prediction!r} for a row, predict.py {expected.prediction!r}."
        raise _Wrong("predictions-differ", message, f"row: {row}\nendpoint: {made}\npredict.py: {expected}")


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
