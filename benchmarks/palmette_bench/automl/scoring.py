"""Scores of hidden answers, and AutoML-Agent's success rate, normalised score and comprehensive score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn import metrics

CONSTRAINTS = {"pass": 1.0, "partly": 0.75, "fail": 0.5}
"""Success rate of a deployed model by the verdict on its constraints (AutoML-Agent, appendix B.4)."""


LOSSES = ("rmsle", "rmse_log", "rmse", "mae", "mse")


def is_loss(metric: str) -> bool:
    """Whether less is better."""
    return metric in LOSSES


def score(metric: str, truth: Sequence[object], predicted: pd.DataFrame, positive: str = "") -> float:
    """A metric; `predicted` has the column `prediction`, and `proba_<class>` for the area under the ROC.

    Raises:
        ValueError: there are not as many predictions as answers, or a number is missing.
    """
    if len(truth) != len(predicted):
        raise ValueError(f"{len(predicted)} predictions for {len(truth)} rows")
    if is_loss(metric):
        return _of_numbers(metric, np.asarray(truth, float), predicted["prediction"].to_numpy(float))
    if metric == "roc_auc":
        named = (f"probability_{positive}", f"proba_{positive}")  # of a delivered package, of a peer
        probability = next(predicted[name] for name in predicted if str(name) in named)
        return float(metrics.roc_auc_score([str(value) == positive for value in truth], probability))
    found, wanted = predicted["prediction"].map(_label).to_numpy(), np.array([_label(value) for value in truth])
    match metric:
        case "accuracy":
            return float(metrics.accuracy_score(wanted, found))
        case "f1":
            return float(metrics.f1_score(wanted == positive, found == positive))
        case "f1_macro":
            return float(metrics.f1_score(wanted, found, average="macro"))
        case "rand":
            return float(metrics.rand_score(wanted, found))
    raise ValueError(f"unknown metric {metric!r}")


def _of_numbers(metric: str, truth: np.ndarray, found: np.ndarray) -> float:
    if not np.isfinite(found).all():
        raise ValueError("a prediction is missing")
    if metric == "rmsle":
        truth, found = np.log1p(np.maximum(truth, 0)), np.log1p(np.maximum(found, 0))
    if metric == "rmse_log":
        truth, found = np.log(truth), np.log(np.maximum(found, np.finfo(float).tiny))
    if metric == "mae":
        return float(metrics.mean_absolute_error(truth, found))
    squared = float(metrics.mean_squared_error(truth, found))
    return squared if metric == "mse" else squared**0.5


def _label(value: object) -> str:
    """One text for a class, however a file spells it."""
    text = str(value)
    return text.removesuffix(".0") if text.replace(".", "", 1).isdigit() else text


def normalised(metric: str, value: float | None) -> float:
    """NPS: 1 / (1 + loss), or the score itself; 0 where there is none."""
    if value is None:
        return 0.0
    return 1 / (1 + value) if is_loss(metric) else value


def success(answered: bool, served: bool, constraints: str, aware: bool) -> float:
    """SR: 0, 0.5 for a model, 1 for one with an endpoint; with constraints 0, 0.25, 0.5, 0.75 (partly), 1."""
    if not answered:
        return 0.0
    if not aware:
        return 1.0 if served else 0.5
    return CONSTRAINTS[constraints] if served else 0.25
