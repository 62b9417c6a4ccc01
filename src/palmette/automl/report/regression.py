"""What is shown of a regression: predicted against true, residuals, and how far off it is where."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.automl.measure.metrics import Floats
from palmette.automl.report.plots import Axis, Figure, Plot, around
from palmette.automl.wording import number

SHOWN = 1500
"""Rows that are drawn."""
BINS = 24
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


class Regressed(NamedTuple):
    half: float
    """Within which half of the predictions are."""
    most: float
    """Within which nine in ten are."""
    bias: float
    parts: tuple[Part, ...]
    figures: tuple[Figure, ...]


def regressed(truth: Floats, said: Floats, target: str, is_log: bool) -> Regressed:
    """Of rows with their true values (n,) and the predicted ones; `is_log`: the metric is about ratios."""
    known = np.isfinite(truth) & np.isfinite(said)
    truth, said = truth[known], said[known]
    if not truth.size:
        nothing = float("nan")
        return Regressed(nothing, nothing, nothing, (), ())
    error = said - truth
    half, most = (float(one) for one in np.quantile(np.abs(error), [0.5, 0.9]))
    log = is_log and min(truth.min(), said.min()) > 0
    figures = (
        _against(truth, said, target, log),
        _residuals(said, error, target, log),
        _spread(error, target),
        _reach(np.abs(error), target),
    )
    return Regressed(half, most, float(error.mean()), _parts(truth, error), figures)


def _parts(truth: Floats, error: Floats) -> tuple[Part, ...]:
    order = np.argsort(truth, kind="stable")
    found = []
    for rows in np.array_split(order, min(PARTS, len(order))):
        low, high = float(truth[rows[0]]), float(truth[rows[-1]])
        found.append(Part(low, high, len(rows), float(np.abs(error[rows]).mean()), float(error[rows].mean())))
    return tuple(found)


def _some(count: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.sort(np.random.default_rng(0).permutation(count)[:SHOWN])


def _range(values: Floats, log: bool) -> tuple[float, float]:
    return (float(values.min()) / 1.1, float(values.max()) * 1.1) if log else around(values.tolist())


def _against(truth: Floats, said: Floats, target: str, log: bool) -> Figure:
    low, high = _range(np.concatenate([truth, said]), log)
    plot = Plot(
        f"Predicted against true values of {target}",
        Axis(f"True {target}", low, high, log),
        Axis(f"Predicted {target}", low, high, log),
    )
    some = _some(len(truth))
    plot.dots(truth[some], said[some])
    plot.line(np.array([low, high]), np.array([low, high]), "guide")
    return Figure("Predicted and true", plot.svg(), "Each dot is a row; on the dashed line it is predicted exactly.")


def _residuals(said: Floats, error: Floats, target: str, log: bool) -> Figure:
    plot = Plot(
        f"Predicted minus true, by the predicted value of {target}",
        Axis(f"Predicted {target}", *_range(said, log), log),
        Axis("Predicted minus true", *around(error.tolist())),
    )
    some = _some(len(said))
    plot.dots(said[some], error[some])
    plot.line(np.array([plot.x.low, plot.x.high]), np.zeros(2), "guide")
    caption = "Above the dashed line the prediction is too high. A trend or a funnel shows where to trust it less."
    return Figure("Residuals", plot.svg(), caption)


def _spread(error: Floats, target: str) -> Figure:
    low, high = (float(one) for one in np.quantile(error, [0.005, 0.995]))
    low, high = around((low, high))
    counts, edges = np.histogram(error, bins=BINS, range=(low, high))
    plot = Plot(f"How the errors for {target} are spread", Axis("Predicted minus true", low, high), _rows(counts))
    plot.bars(edges, counts)
    plot.line(np.zeros(2), np.array([0.0, plot.y.high]), "guide")
    beyond = int(((error < low) | (error > high)).sum())
    caption = "How often errors of a size occur." + (f" {number(beyond)} rows lie beyond the plot." if beyond else "")
    return Figure("Errors", plot.svg(), caption)


def _reach(away: Floats, target: str) -> Figure:
    """The share of predictions within each distance of the truth."""
    ordered = np.sort(away)
    far = float(np.quantile(ordered, 0.98)) or 1.0
    plot = Plot(
        f"Share of predictions of {target} within a distance of the true value",
        Axis("Distance from the true value", 0, far),
        Axis("Predictions within it", 0, 1, is_share=True),
    )
    near = ordered <= far
    plot.line(np.append(0.0, ordered[near]), np.append(0.0, np.arange(1, len(ordered) + 1)[near] / len(ordered)))
    caption = "Read it as: this share of the predictions is at most so far off."
    return Figure("Within reach", plot.svg(), caption)


def _rows(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Axis:
    return Axis("Rows", 0, max(1.0, 1.08 * float(counts.max())), is_whole=True)


def histogram(values: Floats, target: str, log: bool) -> Figure:
    """How the values of the target are spread."""
    values = values[np.isfinite(values)]
    low, high = _range(values, log)
    steps = np.geomspace(low, high, BINS + 1) if log else np.linspace(low, high, BINS + 1)
    counts, edges = np.histogram(values, bins=steps)
    plot = Plot(f"Distribution of {target}", Axis(target, low, high, log), _rows(counts))
    plot.bars(edges, counts)
    return Figure(f"Distribution of {target}", plot.svg(), "")
