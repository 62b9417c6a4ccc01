"""A service that has been taken over answers within a time and a size, or not at all."""

import http
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palmette.automl.endpoint import checking
from palmette.automl.endpoint import service as at_work
from palmette.automl.endpoint.checking import check_endpoint, measure_latency, row_exchanges
from palmette.automl.endpoint.service import HttpReply, Service
from palmette.sandbox import Sandbox

SERVES = """
import socket, sys, time
app = None
server = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
while True:
    one = server.accept()[0]
    try:
        one.recv(10_000); one.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
        while True: {}
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("sends", "said"),
    [("one.sendall(b'x'); time.sleep(0.05)", "timed out"), ("one.sendall(bytes(1 << 16))", "is too long")],
)
def test_an_answer_without_end_is_none(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sends: str, said: str
) -> None:
    (tmp_path / "serve.py").write_text(SERVES.format(sends), encoding="utf-8")
    monkeypatch.setattr(at_work, "MOST", 1 << 20)
    monkeypatch.setattr(at_work, "TIMEOUT", 1.0)
    with Service(sandbox, tmp_path) as service:
        found = "refused"
        while "refused" in found:  # until it listens
            with pytest.raises(OSError) as failed:
                service.call("GET", "/health")
            found = str(failed.value)
    assert said in found


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        "7",
        '{"prediction": "good", "probabilities": []}',
        '{"prediction": "good", "probabilities": {"good": 1' + "0" * 400 + "}}",
        '{"prediction": [], "detail": [{"loc": []}], "paths": {}, "components": []}',
    ],
)
def test_answers_that_are_none_are_a_failure_of_the_project(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With any status a violation, never an exception."""
    monkeypatch.setattr(checking, "LOGGED", 0)
    for status in (http.HTTPStatus.OK, http.HTTPStatus.UNPROCESSABLE_ENTITY):
        service: Any = SimpleNamespace(call=lambda *_, status=status: HttpReply(status, text, 0.0), output=lambda: "")
        due = {"prediction": "good", "probabilities": {"good": 1.0}}
        found = check_endpoint(service, row_exchanges([{"a": 1.0}], [due]))
        assert found and all(one.code for one in found)


def test_latency_is_measured_after_a_warm_up_with_its_spread() -> None:
    service: Any = SimpleNamespace(call=lambda *_: HttpReply(200, "{}", next(seconds)))
    slow: Any = SimpleNamespace(call=lambda *_: HttpReply(200, "{}", 0.5))
    assert measure_latency(slow, [{"a": 1.0}]).requests == 24
    seconds = iter([0.011] * 20 + [0.010] * 20 + [0.014] * 20 + [0.012] * 80)
    found = measure_latency(service, [{"a": 1.0}, {"a": 2.0}])
    assert (found.p50, found.low, found.high, found.requests) == (12.0, 10.0, 14.0, 120) and found.p95 == 14.0
    refusing: Any = SimpleNamespace(call=lambda *_: HttpReply(422, "no", 0.01))
    with pytest.raises(ValueError, match="got 422: no"):
        measure_latency(refusing, [{"a": 1.0}])
