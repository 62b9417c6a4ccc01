"""`palmette serve`, `palmette predict` and `palmette retrain` on a delivered package."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

import pandas as pd
from small_delivery import SmallDelivery, dishes, small_delivery

from palmette.automl.endpoint import retraining
from palmette.automl.endpoint.retraining import Retraining
from palmette.cli import main


@pytest.fixture(scope="module")
def small() -> SmallDelivery:
    return small_delivery()


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def test_rows_of_every_format_get_the_predictions_of_the_package(
    small: SmallDelivery, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = dishes().head(30).assign(photo="elsewhere.jpg")  # the model uses no pictures
    rows.to_csv(tmp_path / "rows.tsv.gz", sep="\t", index=False)
    rows.assign(since=pd.to_datetime(rows["since"], format="%d.%m.%Y")).to_parquet(tmp_path / "rows.parquet")
    rows.to_excel(tmp_path / "rows.xlsx", index=False)
    said = []
    for name in ("rows.tsv.gz", "rows.parquet", "rows.xlsx"):
        made = tmp_path / f"{name}.csv"
        given = ("--input", str(tmp_path / name), "--output", str(made))
        status, out, err = call(capsys, "predict", small.delivery.folder, *given)
        assert (status, out) == (0, "") and "30 predictions" in err
        said.append(pd.read_csv(made))
    assert list(said[0]) == ["prediction", "probability_good", "probability_poor"]
    assert (said[0]["prediction"] == rows["grade"]).mean() > 0.8
    for other in said[1:]:
        pd.testing.assert_frame_equal(other, said[0])


def test_rows_of_another_kind_are_refused_by_column(
    small: SmallDelivery, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dishes().drop(columns=["place", "since"]).to_csv(tmp_path / "rows.csv", index=False)
    status, _, err = call(capsys, "predict", small.delivery.folder, "--input", str(tmp_path / "rows.csv"))
    assert status == 2 and "Columns are missing:" in err and "'place'" in err and "'since'" in err
    assert "rows-refused" in err
    dishes().head(0).to_csv(tmp_path / "rows.csv", index=False)
    status, _, err = call(capsys, "predict", small.delivery.folder, "--input", str(tmp_path / "rows.csv"))
    assert status == 2 and "no row to predict" in err and "no-rows" in err


def test_runs_that_cannot_answer_say_why(
    small: SmallDelivery, capsys: pytest.CaptureFixture[str], tmp_path: Path, runs: Path
) -> None:
    rows = tmp_path / "rows.csv"
    dishes().to_csv(rows, index=False)
    for place, said in [("nothing", "unknown-run"), (str(tmp_path), "unknown-run")]:
        status, _, err = call(capsys, "predict", place, "--input", str(rows))
        assert status == 2 and said in err
    own = Path(__file__).parents[2] / "examples/own_actor"
    status, *_ = call(capsys, "run", str(own / "digest.yaml"), "--given", f"text=@{own / 'notes.txt'}")
    assert status == 0
    status, _, err = call(capsys, "serve", "latest")
    assert status == 2 and "no-model" in err
    status, _, err = call(capsys, "serve", small.delivery.folder, "--host", "a..b")
    assert status == 2 and "no-such-host" in err
    status, _, err = call(capsys, "predict", small.delivery.folder, "--input", str(tmp_path / "gone.csv"))
    assert status == 2 and "no-such-file" in err
    status, _, err = call(capsys, "predict", small.delivery.folder, "--input", str(rows), "--output", "/gone/made.csv")
    assert status == 2 and "no-folder" in err


def test_tools_for_agents_are_not_served_at_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, _, err = call(capsys, "mcp", "--port", str(taken.getsockname()[1]))
    assert status == 2 and "port-taken" in err


def test_an_endpoint_stays_up_until_it_is_interrupted(small: SmallDelivery) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "palmette", "serve", small.delivery.folder, "--port", str(port)]
    # Where the tests run in the background of a script, SIGINT is ignored, and so by all that they start.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    try:
        assert server.stdout
        lines = [server.stdout.readline() for _ in range(3)]
        url = f"http://127.0.0.1:{port}"
        assert url in lines[0] and f"{url}/docs" in lines[1]
        body = re.search(r"-d '(.*)'$", lines[2].strip())
        assert body, lines
        asked = urllib.request.Request(f"{url}/predict", body[1].encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert json.load(answer)["prediction"] in ("good", "poor")
        again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert again.returncode == 2 and "port-taken" in again.stderr and f"--port {port + 1}" in again.stderr
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.communicate()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/health", timeout=5)


def test_a_service_that_does_not_start_is_reported(
    small: SmallDelivery, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(small.delivery.folder, tmp_path / "broken")
    (tmp_path / "broken/serve.py").write_text("raise SystemExit('no such package')")
    status, _, err = call(capsys, "serve", str(tmp_path / "broken"), "--port", "18231")
    assert status == 3 and "no such package" in err and "endpoint-unhealthy" in err


@pytest.mark.parametrize("replaced", [True, False])
def test_a_model_that_is_fitted_again_is_compared_on_the_screen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    found = Retraining(
        metric="f1", old=0.5, new=0.75, low=0.7, high=0.8, rows=400, held_out=100, repeated=7, replaced=replaced,
        folder=str(tmp_path),
    )  # fmt: skip
    monkeypatch.setattr(retraining, "retrain", lambda *_: found)
    given = ("retrain", "latest", "--data", "new.csv")
    status, out, _ = call(capsys, *given)
    assert status == (0 if replaced else 1) and "f1 on 100 held-out rows" in out and "7 rows are in the training" in out
    assert "0.75 (95 % interval 0.7 to 0.8)" in out and ("is now in" in out) == replaced
    assert ("stays as it is" in out) != replaced
    status, out, _ = call(capsys, *given, "--json")
    assert json.loads(out) == found.model_dump(mode="json") and status == (0 if replaced else 1)
