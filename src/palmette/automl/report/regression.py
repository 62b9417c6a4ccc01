"""Errors of predicted numbers: against the true values, by their size, and where they are large."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.automl.measure.metrics import Floats
from palmette.automl.report.plots import Axis, Figure, Plot, around

SHOWN = 1500
"""Rows that are drawn."""
PARTS = 5


class Part(NamedTuple):
    """The rows whose true value is in a fifth of its range by rank."""

    low: float
    high: float
    rows: int
    error: float
    """Mean absolute."""
    bias: float
    """Mean of predicted minus true."""


class RegressionResults(NamedTuple):
    half: float
    """Half of the predictions are at most so far off."""
    most: float
    """Nine in ten are."""
    bias: float
    parts: tuple[Part, ...]
    figures: tuple[Figure, ...]


def regression_results(truth: Floats, predicted: Floats, target: str, is_log: bool) -> RegressionResults | None:
    """Of rows with true values (n,) and predicted ones; None without any. `is_log`: the metric is about ratios."""
    known = np.isfinite(truth) & np.isfinite(predicted)
    truth, predicted = truth[known], predicted[known]
    if not truth.size:
        return None
    error = predicted - truth
    half, most = (float(one) for one in np.quantile(np.abs(error), [0.5, 0.9]))
    log = is_log and min(truth.min(), predicted.min()) > 0
    some = np.sort(np.random.default_rng(0).permutation(len(truth))[:SHOWN])
    figures = (_against(truth, predicted, some, target, log), _residuals(predicted, error, some, target, log))
    return RegressionResults(half, most, float(error.mean()), _parts(truth, error), figures)


def _parts(truth: Floats, error: Floats) -> tuple[Part, ...]:
    order = np.argsort(truth, kind="stable")
    found = []
    for rows in np.array_split(order, min(PARTS, len(order))):
        low, high = float(truth[rows[0]]), float(truth[rows[-1]])
        found.append(Part(low, high, len(rows), float(np.abs(error[rows]).mean()), float(error[rows].mean())))
    return tuple(found)


def _range(values: Floats, log: bool) -> tuple[float, float]:
    return (float(values.min()) / 1.1, float(values.max()) * 1.1) if log else around(values.tolist())


def _against(truth: Floats, predicted: Floats, some: np.ndarray, target: str, log: bool) -> Figure:
    low, high = _range(np.concatenate([truth, predicted]), log)
    x, y = Axis(f"True {target}", low, high, log), Axis(f"Predicted {target}", low, high, log)
    plot = Plot(f"Predicted against true values of {target}", x, y)
    plot.dots(truth[some], predicted[some])
    plot.line(np.array([low, high]), np.array([low, high]), "guide")
    return Figure("Predicted and true", plot.svg(), "Each dot is a row. The dashed line marks exact predictions.")


def _residuals(predicted: Floats, error: Floats, some: np.ndarray, target: str, log: bool) -> Figure:
    x = Axis(f"Predicted {target}", *_range(predicted, log), log)
    plot = Plot(f"Residuals of {target}", x, Axis("Predicted minus true", *around(error.tolist())))
    plot.dots(predicted[some], error[some])
    plot.line(np.array([x.low, x.high]), np.zeros(2), "guide")
    caption = "Above the dashed line the prediction is too high. A trend or a funnel shows where to trust it less."
    return Figure("Residuals", plot.svg(), caption)
