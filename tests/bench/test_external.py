"""The adapter gives what a comparison reads: a prediction a row, and probabilities by class."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from palmette_bench.__main__ import bench
from palmette_bench.forecast_at_origin import FOLDER


def run(*arguments: str) -> Result:
    return CliRunner().invoke(bench, ["external", *arguments], catch_exceptions=False)


def test_two_files_in_predictions_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x[0]": random.normal(size=200).round(3), "colour": random.choice(["red", "blue"], 200)})
    table["y"] = np.where(table["x[0]"] + (table["colour"] == "red") > 0.4, 7, 3)
    train, test, out = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "out.csv"
    table[:150].to_csv(train, index=False)
    table[150:].drop(columns="y").to_csv(test, index=False)
    monkeypatch.setenv("PEERS_POSITIVE", "7")
    assert run(str(train), str(test), "y", "tabular_classification", "roc_auc", "1.5", str(out)).exit_code == 0
    made = pd.read_csv(out, dtype={"prediction": str})
    assert list(made.columns) == ["prediction", "proba_3", "proba_7"] and len(made) == 50
    assert made[["proba_3", "proba_7"]].sum(axis=1).to_numpy() == pytest.approx(np.ones(50))
    assert (made["prediction"] == table["y"][150:].astype(str).to_numpy()).mean() > 0.85


def test_clusters_are_found_without_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    place = random.integers(0, 3, 200)
    table = pd.DataFrame({"a": 9 * place + random.normal(size=200), "b": 9 * (place == 1) + random.normal(size=200)})
    train, test, out = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "out.csv"
    table[:150].to_csv(train, index=False)
    table[150:].to_csv(test, index=False)
    monkeypatch.setenv("PEERS_CLUSTERS", "3")
    assert run(str(train), str(test), "cluster", "tabular_clustering", "rand_score", "1.5", str(out)).exit_code == 0
    made = pd.read_csv(out)
    assert len(made) == 50 and made["prediction"].groupby(place[150:]).nunique().tolist() == [1, 1, 1]


def test_nodes_are_predicted_within_their_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 150)
    nodes = pd.DataFrame({"node": range(150), "x": random.normal(size=150).round(3), "y": np.where(group, "a", "b")})
    pairs = [(one, random.choice(np.flatnonzero(group == group[one]))) for one in range(150) for _ in range(8)]
    files = {name: tmp_path / f"{name}.csv" for name in ("train", "test", "others", "edges", "out")}
    nodes[:80].to_csv(files["train"], index=False)
    nodes[80:120].drop(columns="y").to_csv(files["test"], index=False)
    nodes[120:].drop(columns="y").to_csv(files["others"], index=False)
    pd.DataFrame(pairs, columns=["source", "target"]).to_csv(files["edges"], index=False)
    monkeypatch.setenv("PEERS_NODE_ID", "node")
    monkeypatch.setenv("PEERS_EDGES", str(files["edges"]))
    monkeypatch.setenv("PEERS_OTHER_NODES", str(files["others"]))
    given = (str(files["train"]), str(files["test"]), "y", "node_classification", "accuracy", "2.5", str(files["out"]))
    assert run(*given).exit_code == 0
    made = pd.read_csv(files["out"])
    assert len(made) == 40 and (made["prediction"] == nodes["y"][80:120].to_numpy()).mean() > 0.7


def test_a_forecaster_is_kept_from_origin_to_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps, random = np.arange(252), np.random.default_rng(0)
    north = 10 + 3 * np.sin(2 * np.pi * steps / 24) + random.normal(0, 0.2, 252)
    stamps = pd.date_range("2024-01-01", periods=252, freq="h").astype(str)
    table = pd.DataFrame({"time": stamps, "north": north, "south": 50 - 2 * north, "wind": random.normal(0, 1, 252)})
    train, history, out, state = (tmp_path / name for name in ("train.csv", "history.csv", "out.csv", "state"))
    state.mkdir()
    table[:216].to_csv(train, index=False)
    given = {"TIME": "time", "FREQUENCY": "h", "SERIES_ID": "", "HORIZON": "12", "STATE": str(state)}
    for name, value in given.items():
        monkeypatch.setenv(f"PEERS_{name}", value)
    made = []
    for origin in (216, 232):
        table[:origin].to_csv(history, index=False)
        assert run(str(train), str(history), "north,south", "ts_forecasting", "mse", "1.5", str(out)).exit_code == 0
        found, truth = pd.read_csv(out), table[origin : origin + 12]
        assert list(found["time"].astype(str)) == list(truth["time"])
        assert np.abs(found[["north", "south"]].to_numpy() - truth[["north", "south"]].to_numpy()).mean() < 1.0
        assert (found["north_p10"] <= found["north_p90"]).all()
        made.append((state / FOLDER / "model" / "model.pkl.gz").stat().st_mtime)
    assert made[0] == made[1], "nothing is fitted again"
    assert "import palmette" not in "".join(one.read_text("utf-8") for one in (state / FOLDER).rglob("*.py"))


def test_an_unknown_task_is_refused() -> None:
    refused = run("a", "b", "y", "event_log_classification", "rand", "9", "c")
    assert refused.exit_code == 2 and "event_log_classification" in refused.output


def test_a_series_with_a_model_is_forecast_without_the_search() -> None:
    """Each call of a comparison is a program of its own: what it imports is the time that it takes."""
    code = "import sys, palmette_bench.external; print({'pandas', 'palmette.automl.search'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
