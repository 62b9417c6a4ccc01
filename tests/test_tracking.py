"""Runs on a real MLflow server on loopback. It may lie in an environment of its own, which `MLFLOW_SERVER` names."""

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import server as s
from canned import Canned
from test_agent import BAD, GOOD, setup

from palmette import tracking
from palmette.engine import Observer, Setup, resume_run, run_topology
from palmette.llm import telemetry

PACKAGE = """
from pathlib import Path

class Model:
    def __init__(self, answer): self.answer = answer
    def predict(self, rows): return [self.answer] * len(rows)

def _load_pyfunc(folder): return Model((Path(folder) / "answer.txt").read_text("utf-8"))
"""


def model_run(folder: Path) -> Setup:
    """A run with what an AutoML run measures and delivers."""
    delivered = folder / "delivered"
    for name, text in {"toy_model/__init__.py": PACKAGE, "model/answer.txt": "good", "requirements.txt": ""}.items():
        (delivered / name).parent.mkdir(parents=True, exist_ok=True)
        (delivered / name).write_text(text, "utf-8")
    measured = {"track": "traditional", "low": 0.6, "high": 0.8, "error_reduction": 0.1, "seconds": 2.0}
    candidate = {"settings": {"depth": 3}, "encoders": {"text": "text_tfidf"}, "strategy": {}}
    rows: list[Any] = [
        {"name": "lightgbm-deep", "learner": "lightgbm", "score": 0.7, "chosen": True, "candidate": candidate},
        {"name": "ensemble", "learner": "mean", "score": 0.69, "chosen": False, "candidate": None},
    ]
    given: dict[str, Any] = {
        "comparison": {"leaderboard": [measured | row for row in rows]},
        "assessment": {
            "better": True,
            "training_seconds": 3.0,
            "megabytes": 0.1,
            "scores": [{"metric": "roc_auc", "value": 0.71, "low": 0.6, "high": 0.8, "baseline": None}],
            "latency": {"p50": 2.0, "p95": 3.0},
        },
        "delivery": {"folder": str(delivered), "package": "toy_model"},
    }
    base = setup(Canned([BAD, GOOD]))
    return replace(base, given=given, topology=base.topology.model_copy(update={"given": tuple(given)}))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    program = os.environ.get("MLFLOW_SERVER") or (shutil.which("mlflow") if find_spec("flask_cors") else None)
    if not program:
        pytest.skip("the server of MLflow is not installed: name its program in MLFLOW_SERVER")
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    store = ["--backend-store-uri", f"sqlite:///{folder}/runs.db", "--artifacts-destination", str(folder / "files")]
    command = [program, "server", *store, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            until = time.monotonic() + 120
            while not _answers(address) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.5)
            assert _answers(address), (folder / "log").read_text("utf-8")[-2000:]
            yield address
        finally:
            process.terminate()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5):
            return True
    except OSError:
        return False


@pytest.mark.filterwarnings("ignore")  # of mlflow
def test_a_run_its_candidates_and_its_model_are_logged_and_a_resume_goes_on_there(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(tracking.SETTING, server)
    monkeypatch.setenv("MLFLOW_API_TOKEN", "a-secret-value")
    with s.serving(lambda handler: handler.send(200, b"", "application/x-protobuf")) as collector:
        monkeypatch.setenv(telemetry.SETTING, collector.url)
        given = model_run(tmp_path)
        run_topology(given, tmp_path / "run")
        resume_run(tmp_path / "run", setup=given)
    assert "mlflow" not in capsys.readouterr().err
    import mlflow

    client = mlflow.MlflowClient(server)
    mlflow.set_tracking_uri(server)
    found = client.search_runs([client.get_experiment_by_name("palmette").experiment_id])
    by_name = {one.info.run_name: one for one in found}
    assert set(by_name) == {"run", "lightgbm-deep", "ensemble"} and len(found) == 3, "also after the resume"
    run, best = by_name["run"], by_name["lightgbm-deep"]
    assert run.info.status == "FINISHED" and run.data.tags["palmette.topology"] == "words"
    traces = telemetry.trace_ids(tmp_path / "run")
    assert len(traces) == 2 and run.data.tags["opentelemetry.trace_id"] == traces[-1]
    assert run.data.metrics["tokens"] == 240 and run.data.metrics["holdout.roc_auc"] == 0.71
    assert best.data.params == {
        "learner": "lightgbm", "track": "traditional", "settings.depth": "3", "encoders.text": "text_tfidf",
    }  # fmt: skip
    assert best.data.metrics["score"] == 0.7 and best.data.tags["chosen"] == "true"
    assert best.data.tags["mlflow.parentRunId"] == run.info.run_id
    files = {one.path for one in client.list_artifacts(run.info.run_id, "artefacts/script")}
    assert files == {"artefacts/script/script.py", "artefacts/script/value.json"}
    assert mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict([1, 2]) == ["good", "good"]


def test_a_server_that_is_down_costs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv(tracking.SETTING, "http://user:a-password@127.0.0.1:9")
    assert run_topology(setup(), tmp_path / "run").status == "finished"
    (warning,) = [line for line in capsys.readouterr().err.splitlines() if "mlflow" in line]
    assert warning.startswith("mlflow: the run is not logged to http://127.0.0.1:9: MlflowException")
    assert "a-password" not in warning
    monkeypatch.setenv(tracking.SETTING, "")
    assert isinstance(tracking.open_tracking(tmp_path), Observer)
