"""Permutation importance of a model behind an interface."""

import numpy as np
import pandas as pd
import pytest

from palmette.automl.artefacts import FeatureImportance
from palmette.automl.measure.metrics import METRICS, Predictions
from palmette.automl.problems import explanations
from palmette.automl.problems.explanations import importance

TRUTH = np.arange(400) % 7


class Model:
    """Predicts the column `signal`, or its negative where `flag` is false, and remembers the rows."""

    def __init__(self) -> None:
        self.asked: list[pd.DataFrame] = []

    def __call__(self, rows: pd.DataFrame) -> Predictions:
        self.asked.append(rows)
        return Predictions(np.where(rows["flag"], rows["signal"], -rows["signal"]).astype(float))


def table(others: int = 1) -> pd.DataFrame:
    flags = pd.array([True, True, True, False] * 100, dtype="boolean")
    signal = np.where(flags.to_numpy(bool), TRUTH, -TRUTH)
    noise = {f"noise {number}": pd.Categorical(np.where(TRUTH > 3, "a", "b")) for number in range(others)}
    return pd.DataFrame({"signal": signal, "flag": flags, **noise}, index=np.arange(400) + 1000)


@pytest.mark.parametrize("metric", ["rmse", "r2"])
def test_what_the_model_uses_is_important_and_what_it_does_not_is_not(metric: str) -> None:
    model, rows = Model(), table()
    found = importance(model, rows, TRUTH, METRICS[metric], ["noise 0", "flag", "signal"], seed=3)
    assert [one.column for one in found] == ["signal", "flag", "noise 0"]
    assert found[0].drop > found[1].drop > 0 and found[0].deviation > 0
    assert found[2] == FeatureImportance(column="noise 0", drop=0.0, deviation=0.0)
    assert found == importance(Model(), rows, TRUTH, METRICS[metric], ["noise 0", "flag", "signal"], seed=3)


def test_the_model_is_called_once_with_rows_of_their_own_types() -> None:
    model, rows = Model(), table()
    importance(model, rows, TRUTH, METRICS["mae"], list(rows.columns))
    assert len(model.asked) == 1
    assert model.asked[0].dtypes.to_dict() == rows.dtypes.to_dict()
    assert len(model.asked[0]) == 300 * (1 + 5 * 3)


@pytest.mark.parametrize(
    ("others", "most", "measured", "size"), [(200, 10_000, 49, 100), (1, 700, 3, 100), (1, 50, 0, 0)]
)
def test_no_more_rows_are_predicted_than_allowed(
    others: int, most: int, measured: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer rows are sampled first, then columns are left out from the end."""
    monkeypatch.setattr(explanations, "MOST", most)
    model, rows = Model(), table(others)
    found = importance(model, rows, TRUTH, METRICS["mae"], list(rows.columns))
    assert {one.column for one in found} == set(rows.columns[:measured])
    assert sum(map(len, model.asked)) <= most
    assert sum(map(len, model.asked)) >= size * (1 + 2 * measured)


def test_the_rare_class_is_in_the_sample_and_without_one_there_is_nothing() -> None:
    rows = pd.DataFrame({"signal": np.random.default_rng(0).random(3_000)})
    truth = np.where(rows["signal"] > 0.996, "rare", "usual")
    area, classes = METRICS["roc_auc"], ("rare", "usual")
    assert 10 <= (truth == "rare").sum() < 20

    def ask(asked: pd.DataFrame) -> Predictions:
        chances = np.column_stack([asked["signal"], 1 - asked["signal"]])
        return Predictions(np.array(classes)[chances.argmax(1)], chances, classes)

    for seed in range(10):
        (one,) = importance(ask, rows, truth, area, ["signal"], positive="rare", seed=seed)
        assert one.drop > 0
    assert importance(ask, rows, np.full(3_000, "usual"), area, ["signal"], positive="rare") == ()
