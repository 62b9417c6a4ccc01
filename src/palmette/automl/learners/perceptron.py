"""The multilayer perceptron of scikit-learn."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Mapping
from typing import Any

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import FoldData, Learner, Measured, Range, Settings, TrainingSetup

MOST_EPOCHS, PATIENCE = 200, 8


class Perceptron(Learner):
    name = "mlp"
    stops_early = True
    layout = "dense"
    families = frozenset({"neural_network", "perceptron", "multilayer_perceptron"})
    description = "A neural network with two hidden layers, stopped at its best epoch."
    measured = Measured(0.28, 3.9e-6, kilobytes=340.0)
    rank = 7
    reason = "smooth where trees are steps"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        width, epochs = int(settings.get("width") or 128), rounds or MOST_EPOCHS
        given = {
            "hidden_layer_sizes": (width, max(8, width // 2)),
            "alpha": settings.get("alpha", 1e-3),
            "learning_rate_init": settings.get("learning_rate", 2e-3),
            "max_iter": epochs,
            "n_iter_no_change": epochs,
            "random_state": setup.seed,
        }
        if setup.facts.classes:
            return Call("sklearn.neural_network.MLPClassifier", given)
        scaled = {"transformer": Call("sklearn.preprocessing.StandardScaler")}
        network = Call("sklearn.neural_network.MLPRegressor", given)
        return Call("sklearn.compose.TransformedTargetRegressor", {"regressor": network, **scaled})

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "width": Range.choice(32, 64, 128, 256, default=128, note="units of the first layer"),
            "alpha": Range(1e-5, 1e-1, 1e-3, "strength of the L2 penalty", log=True),
            "learning_rate": Range(5e-4, 5e-3, 2e-3, log=True),
        }

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        """Fits epoch by epoch and keeps the network of the best epoch."""
        network, target, valid_target = _first_epoch(estimator, fold)
        best, lowest, rounds = copy.deepcopy(network), _loss(network, fold.valid, valid_target), 1
        for epoch in range(2, MOST_EPOCHS + 1):
            if epoch - rounds > PATIENCE or time.monotonic() > deadline:
                break
            network.partial_fit(fold.train, target, **fold.options)
            loss = _loss(network, fold.valid, valid_target)
            if loss < lowest:
                best, lowest, rounds = copy.deepcopy(network), loss, epoch
        network.__dict__.update(best.__dict__)
        return rounds


def _first_epoch(estimator: Any, fold: FoldData) -> tuple[Any, Any, Any]:
    """Returns the network after one epoch, and the encoded targets of training and validation rows."""
    from sklearn.exceptions import ConvergenceWarning

    is_class = not hasattr(estimator, "regressor")
    estimator.set_params(**{"max_iter" if is_class else "regressor__max_iter": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(fold.train, fold.target, **fold.options)
    if is_class:
        return estimator, fold.target, fold.valid_target
    scale = estimator.transformer_.transform
    targets = (scale(one.reshape(-1, 1)).ravel() for one in (fold.target, fold.valid_target))
    return estimator.regressor_, *targets


def _loss(network: Any, rows: Any, target: Any) -> float:
    import numpy as np

    if not hasattr(network, "predict_proba"):
        return float(np.mean((network.predict(rows) - target) ** 2))
    places = np.searchsorted(network.classes_, target)
    known = network.classes_[np.minimum(places, len(network.classes_) - 1)] == target
    right = network.predict_proba(rows)[np.flatnonzero(known), places[known]]
    return float(-np.log(np.maximum(right, 1e-9)).mean()) if len(right) else 0.0
