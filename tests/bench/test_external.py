"""The adapter gives what a comparison reads: a prediction a row, and probabilities by class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from palmette.bench.external import main


def test_two_files_in_predictions_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x[0]": random.normal(size=200).round(3), "colour": random.choice(["red", "blue"], 200)})
    table["y"] = np.where(table["x[0]"] + (table["colour"] == "red") > 0.4, 7, 3)
    train, test, out = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "out.csv"
    table[:150].to_csv(train, index=False)
    table[150:].drop(columns="y").to_csv(test, index=False)
    monkeypatch.setenv("PEERS_POSITIVE", "7")
    main([str(train), str(test), "y", "tabular_classification", "roc_auc", "5", str(out)])
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
    main([str(train), str(test), "cluster", "tabular_clustering", "rand_score", "4", str(out)])
    made = pd.read_csv(out)
    assert len(made) == 50 and made["prediction"].groupby(place[150:]).nunique().tolist() == [1, 1, 1]


def test_a_task_that_is_not_a_table_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["a", "b", "y", "image_clustering", "rand", "9", "c"])
    assert "image_clustering" in capsys.readouterr().err
