"""Own code is measured on folds whose targets it cannot have seen: they change neither steps nor predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_coding import Shop, candidate

from palmette.automl.calls import build
from palmette.automl.composition import reader_of
from palmette.automl.problems.problem import problem_of
from palmette.automl.search.worker import FoldResult, FoldTask, Workspace
from palmette.automl.splitting.data_splits import DataSplits


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"))


def fitted(shop: Shop, folder: Path, learner: str, scrambled: bool, **fields: Any) -> FoldResult:
    """The first fold by a learner, with its own targets or those of other rows."""
    blueprint = shop.known["blueprint"]
    problem = problem_of(blueprint)
    rows = DataSplits.of(shop.known["samples"], shop.known["profile"].split).train.copy()
    folds = np.arange(len(rows)) % 3
    if scrambled:
        target = rows["returned"].to_numpy().copy()
        target[folds == 0] = np.random.default_rng(0).permutation(target[folds == 0])
        rows["returned"] = target
    folder.mkdir()
    frame = build(reader_of(blueprint)).fit_transform(rows.drop(columns="returned"))
    workspace = Workspace(folder, blueprint, problem, rows, frame, folds, **fields)
    return workspace.fit(FoldTask(candidate(learner), 0, 60.0))


@pytest.mark.parametrize("learner", ["lightgbm", "xgboost", "mlp", "linear"])
def test_the_targets_of_a_hidden_fold_change_nothing(learner: str, shop: Shop, tmp_path: Path) -> None:
    first, second = (fitted(shop, tmp_path / str(flag), learner, flag) for flag in (False, True))
    assert first.outputs is not None and second.outputs is not None, (first.note, second.note)
    assert first.rounds == second.rounds
    assert np.allclose(first.outputs, second.outputs)
