"""Figures of regressions, clusters and forecasts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from palmette.automl.measure.metrics import Floats
from palmette.automl.report.plots import Axis, Figure, Plot, around
from palmette.automl.report_data import ClusterResults, DrawnForecast, Forecasts

COLOURED = 6  # clusters with a colour of their own
KEYS = (("c0", "true value"), ("c1", "forecast"))
SHOWN = 1500  # most rows that are drawn
PARTS = 5


class ErrorRange(NamedTuple):
    """Errors in one fifth of the rows, by rank of the true value."""

    low: float
    high: float
    rows: int
    error: float  # mean absolute error
    bias: float  # mean of predicted minus true


class RegressionResults(NamedTuple):
    half: float  # median absolute error
    most: float  # 90 % quantile of the absolute error
    bias: float
    parts: tuple[ErrorRange, ...]
    figures: tuple[Figure, ...]


def regression_results(truth: Floats, predicted: Floats, target: str, is_log: bool) -> RegressionResults | None:
    """Compares true and predicted values (n,); None without any. `is_log`: the metric is about ratios."""
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


def _parts(truth: Floats, error: Floats) -> tuple[ErrorRange, ...]:
    order = np.argsort(truth, kind="stable")
    found = []
    for rows in np.array_split(order, min(PARTS, len(order))):
        low, high = float(truth[rows[0]]), float(truth[rows[-1]])
        found.append(ErrorRange(low, high, len(rows), float(np.abs(error[rows]).mean()), float(error[rows].mean())))
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


def cluster_figures(found: ClusterResults) -> Iterator[Figure]:
    """The figures for which there are measurements."""
    if len(found.silhouettes) > 1:
        yield _silhouettes(found.silhouettes)
    if found.projection is not None and found.labels is not None and len(found.projection):
        yield _plane(found.projection[:SHOWN], found.labels[:SHOWN])


def _silhouettes(tried: tuple[tuple[int, float], ...]) -> Figure:
    counts, scores = (np.array(side, float) for side in zip(*tried, strict=True))
    x = Axis("Clusters", float(counts.min()), float(counts.max()), is_whole=True)
    plot = Plot("Silhouette by number of clusters", x, Axis("Silhouette", *around(scores.tolist(), 0.1)))
    plot.line(counts, scores)
    plot.dots(counts, scores, "c0", "point")
    best = [int(scores.argmax())]
    plot.dots(counts[best], scores[best], "c1", "point")
    caption = "How well separated the clusters are, by their number; 1 is perfect."
    at_edge = " The best number is the largest that was tried: there may be more clusters."
    return Figure("Silhouette", plot.svg(), caption + at_edge * (int(counts[best[0]]) == int(counts.max())))


def _plane(points: Floats, labels: NDArray[np.intp]) -> Figure:
    one, two = points[:, 0], points[:, 1]
    x, y = (Axis(f"{name} direction", *around(side.tolist())) for name, side in (("First", one), ("Second", two)))
    plot = Plot("Rows in the plane, by cluster", x, y)
    names = sorted(set(labels.tolist()))
    for name in names:
        inside = labels == name
        plot.dots(one[inside], two[inside], f"c{name}" if 0 <= name < COLOURED else "faint")
    keys = tuple((f"c{name}", f"cluster {name}") for name in names if 0 <= name < COLOURED)
    keys += (("faint", "smaller clusters"),) if max(names) >= COLOURED else ()
    return Figure("Rows in the plane", plot.svg(), "Each dot is a row; similar rows are near one another.", keys)


def forecast_figures(found: Forecasts) -> Iterator[Figure]:
    """A figure for each forecast."""
    for one in found.drawn:
        band = ", with the band that should hold most values" if one.low is not None else ""
        caption = f"The last known values, then the forecast and the true values{band}."
        yield Figure(one.title, _drawing(one), caption, KEYS)


def _drawing(one: DrawnForecast) -> Markup:
    known, ahead = len(one.before), len(one.values)
    steps = np.arange(-known + 1, ahead + 1, dtype=float)
    ends = [side for side in (one.low, one.high) if side is not None]
    every = np.concatenate([one.before, one.truth, one.values, *ends])
    plot = Plot(
        f"Forecast of {one.title}",
        Axis("Steps from the origin", float(steps[0]), float(steps[-1])),
        Axis("Value", *around(every[np.isfinite(every)].tolist(), 0.05)),
    )
    later = steps[known:]
    if one.low is not None and one.high is not None:
        plot.band(later, one.low, one.high)
    past = np.concatenate([one.before, one.truth])
    there = np.isfinite(past)
    plot.line(steps[there], past[there])
    plot.line(later, one.values, "c1")
    return plot.svg()
