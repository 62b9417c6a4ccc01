"""A model is built at the first origin and forecasts from later ones; this runs the whole environment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from palmette_bench.forecast_at_origin import FOLDER, ForecastRequest, forecast_at_origin

HORIZON = 12


def waves(count: int = 420) -> pd.DataFrame:
    steps, random = np.arange(count), np.random.default_rng(0)
    stamps = pd.date_range("2024-01-01", periods=count, freq="h").astype(str)
    north = 10 + 3 * np.sin(2 * np.pi * steps / 24) + random.normal(0, 0.2, count)
    return pd.DataFrame({"time": stamps, "north": north, "south": 50 - 2 * north, "wind": random.normal(0, 1, count)})


def test_a_model_is_kept_from_origin_to_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows, train, history, state = waves(), tmp_path / "train.csv", tmp_path / "history.csv", tmp_path / "state"
    state.mkdir()
    rows[:384].to_csv(train, index=False)
    request = ForecastRequest(["north", "south"], HORIZON, "time", "h", metric="mse", seconds=10)
    made = []
    for origin in (384, 400):
        rows[:origin].to_csv(history, index=False)
        found = forecast_at_origin(request, train, history, state)
        truth = rows[origin : origin + HORIZON]
        assert list(found["time"].astype(str)) == list(truth["time"])
        error = np.abs(found[["north", "south"]].to_numpy() - truth[["north", "south"]].to_numpy())
        assert error.mean() < 1.0
        assert (found["north_p10"] <= found["north_p90"]).all()
        made.append((state / FOLDER / "model" / "model.joblib").stat().st_mtime)
    assert made[0] == made[1], "nothing is fitted again"
    assert "import palmette" not in "".join(one.read_text("utf-8") for one in (state / FOLDER).rglob("*.py"))
