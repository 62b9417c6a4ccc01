"""Drawings of a clustering: the silhouette by number of clusters, and the rows in the plane."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.metrics import Floats
from palmette.automl.report.plots import Axis, Figure, Plot, around
from palmette.automl.report_data import Clustering

COLOURED = 6
"""Clusters that have a colour of their own."""
DRAWN = 1500
"""Rows that are drawn."""


def cluster_figures(found: Clustering) -> Iterator[Figure]:
    """The drawings for which something was measured."""
    if len(found.silhouettes) > 1:
        yield _silhouettes(found.silhouettes)
    if found.projection is not None and found.labels is not None and len(found.projection):
        yield _plane(found.projection[:DRAWN], found.labels[:DRAWN])


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
