"""What was asked for, against what was measured."""

from __future__ import annotations

import pytest

from palmette.automl.actors.implementation_verifier.judging import Answering, Measured, judged
from palmette.automl.requirements import Requirements


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
    measured = Measured({}, training_seconds=1.0, megabytes=1.0, answering=None, algorithms=tuple(members.split()))
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
    measured = Measured({}, training_seconds=1.0, megabytes=1.0, answering=answering, algorithms=("lightgbm",))
    assert [f"{one.measured}: {one.status}" for one in judged(wanted, measured)] == [told]
