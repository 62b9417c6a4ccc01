"""What was asked for, against what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="the extra automl is not installed")

import joblib
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from palmette.automl.actors.implementation_verifier.counting import parameters_of
from palmette.automl.actors.implementation_verifier.judging import Answering, Measured, judged
from palmette.automl.project import Project
from palmette.automl.requirements import Requirements
from palmette.sandbox import Sandbox


def measured_of(algorithms: str, **more: Any) -> Measured:
    known = {"members": {f"{one}-1": one for one in algorithms.split()}, "answering": None}
    return Measured({}, "out of fold", training_seconds=1.0, megabytes=1.0, **known | more)


@pytest.mark.parametrize(("wishes", "members", "told"), [
    ("must gradient_boosting", "lightgbm", "only gradient_boosting: pass"),
    ("must gradient_boosting", "lightgbm linear", "only gradient_boosting: fail"),
    ("must xgboost, must lightgbm", "xgboost lightgbm", "only lightgbm or xgboost: pass"),
    ("not neural_network", "mlp lightgbm", "no neural_network: fail"),
    ("not neural_network", "lightgbm", "no neural_network: pass"),
    ("must tree_ensemble, not boosting", "extra_trees", "only tree_ensemble: pass; no boosting: pass"),
    ("must ensemble", "lightgbm linear", "several models together: pass"),
    ("must ensemble", "lightgbm", "several models together: fail"),
    ("not ensemble, must lightgbm", "lightgbm", "only lightgbm: pass; a single model: pass"),
    ("may catboost", "lightgbm", ""),
])  # fmt: skip
def test_families_of_algorithms_are_judged_by_their_members(wishes: str, members: str, told: str) -> None:
    named = [dict(zip(("mood", "name"), wish.split(), strict=True)) | {"words": "x"} for wish in wishes.split(", ")]
    wanted = Requirements.model_validate({"text": "x", "model": {"algorithms": named}})
    measured = measured_of(members)
    assert "; ".join(f"{one.wish}: {one.status}" for one in judged(wanted, measured)) == told


@pytest.mark.parametrize(("per", "answering", "told"), [
    ("row", Answering(3.0, 1.5, 200), "3.0 ms a row: pass"),
    ("set", Answering(3.0, 1.5, 200), "1.50 s for 200 rows: fail"),
    ("set", Answering(3.0, 0.5, 200), "0.50 s for 200 rows: pass"),
    (None, None, "not measured: the endpoint did not start: fail"),
])  # fmt: skip
def test_a_time_for_all_rows_is_not_that_of_one(per: str | None, answering: Answering | None, told: str) -> None:
    limit = {"quantity": "prediction time", "comparison": "<=", "value": 1.0, "per": per, "words": "x"}
    wanted = Requirements.model_validate({"text": "x", "problem": {"constraints": [limit]}})
    measured = measured_of("lightgbm", answering=answering)
    assert [f"{one.measured}: {one.status}" for one in judged(wanted, measured)] == [told]


@pytest.mark.parametrize(("counts", "told"), [
    ({"mlp-1": 700, "tabm-1": 200}, "900 in all fitted models: pass"),
    ({"mlp-1": 700, "tabm-1": 700}, "1,400 in all fitted models: fail"),
    ({"mlp-1": 700, "tabm-1": 0}, "700 in all fitted models; tabm has none that could be counted: pass"),
    ({"mlp-1": 0, "tabm-1": 0}, "mlp, tabm have none that could be counted: partly"),
    (None, "not measured: the fitted models cannot be read: fail"),
])  # fmt: skip
def test_parameters_are_those_of_all_members_that_have_any(counts: dict[str, int] | None, told: str) -> None:
    limit = {"quantity": "parameters", "comparison": "<=", "value": 1000, "words": "x"}
    wanted = Requirements.model_validate({"text": "x", "problem": {"constraints": [limit]}})
    measured = measured_of("mlp tabm", parameters=counts)
    assert [f"{one.measured}: {one.status}" for one in judged(wanted, measured)] == [told]


def test_parameters_are_counted_where_a_model_has_them(tmp_path: Path, sandbox: Sandbox) -> None:
    """Weights of lines and networks, wherever in the fitted object; of trees none."""
    x, y = np.arange(24.0).reshape(8, 3), np.arange(8) % 2
    with pytest.warns(ConvergenceWarning):
        network = MLPClassifier((4,), max_iter=1).fit(x, y)
    fitted = {
        "line": [Ridge().fit(x, y), {"within": [make_pipeline(StandardScaler(), Ridge()).fit(x, y)]}],
        "mlp": [network, {"twice": (network, network)}],
        "tree": [DecisionTreeClassifier().fit(x, y)],
    }
    for name, models in fitted.items():
        folder = tmp_path / "model" / "fold_models" / name
        folder.mkdir(parents=True)
        for number, model in enumerate(models):
            joblib.dump(model, folder / f"{number}.joblib")
    network_size = (3 * 4 + 4) + (4 * 1 + 1)
    counted = parameters_of(Project(tmp_path, sandbox), tmp_path / "scratch")
    assert counted == {"line": 2 * (3 + 1), "mlp": 2 * network_size, "tree": 0}
