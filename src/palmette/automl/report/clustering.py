"""What is shown of a clustering: the silhouette by number of groups, and the rows in the plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palmette.automl.evidence import Grouping
from palmette.automl.measure.metrics import Floats
from palmette.automl.report.plots import Axis, Figure, Plot, around

COLOURED = 6
"""Groups that have a colour of their own."""
DRAWN = 1500
"""Rows that are drawn."""


def grouped(found: Grouping | None) -> tuple[Figure, ...]:
    """The drawings for which something was measured."""
    if found is None:
        return ()
    drawn = [_silhouettes(found.silhouettes)] if len(found.silhouettes) > 1 else []
    if found.projection is not None and found.groups is not None and len(found.projection):
        drawn.append(_projected(found.projection[:DRAWN], found.groups[:DRAWN]))
    return tuple(drawn)


def _silhouettes(tried: tuple[tuple[int, float], ...]) -> Figure:
    counts, scores = (np.array(side, float) for side in zip(*tried, strict=True))
    plot = Plot(
        "Silhouette by number of groups",
        Axis("Groups", float(counts.min()), float(counts.max()), is_whole=True),
        Axis("Silhouette", *around(scores.tolist(), 0.1)),
    )
    plot.line(counts, scores)
    plot.dots(counts, scores, "c0", "point")
    best = [int(scores.argmax())]
    plot.dots(counts[best], scores[best], "c1", "point")
    told = "How well apart the groups are, by their number; 1 is perfectly."
    edge = " The best number is the largest that was tried: there may be more groups."
    return Figure("Silhouette", plot.svg(), told + edge * (int(counts[best[0]]) == int(counts.max())))


def _projected(places: Floats, groups: NDArray[np.intp]) -> Figure:
    one, two = places[:, 0], places[:, 1]
    plot = Plot(
        "Rows in the plane, by group",
        Axis("First direction", *around(one.tolist())),
        Axis("Second direction", *around(two.tolist())),
    )
    names = sorted(set(groups.tolist()))
    for group in names:
        of_group = groups == group
        plot.dots(one[of_group], two[of_group], f"c{group}" if 0 <= group < COLOURED else "faint")
    keys = tuple((f"c{group}", f"group {group}") for group in names if 0 <= group < COLOURED)
    keys += (("faint", "smaller groups"),) if max(names) >= COLOURED else ()
    caption = "Each dot is a row; near rows are alike, as far as a plane can show."
    return Figure("Rows in the plane", plot.svg(), caption, keys)
