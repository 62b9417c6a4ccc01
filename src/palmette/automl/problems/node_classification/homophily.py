"""Homophily: how often neighbours have the same class, which decides whether edges help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from palmette.automl.learners.graph.nodes import Nodes

CLEAR = 0.1
"""Difference from chance above which neighbours are alike, or unlike."""


class Homophily(NamedTuple):
    """Of the edges between nodes with a known class."""

    share: float
    """Of them, that join nodes of one class."""
    chance: float
    """The share to expect if edges did not look at classes."""
    edges: int


def homophily_of(nodes: Nodes, classes: NDArray[Any]) -> Homophily:
    """Of nodes with known classes (n,), in the order of `nodes`."""
    links = nodes.links.tocoo()
    ends = classes[links.row], classes[links.col]
    names, counts = np.unique(ends[0], return_counts=True)
    shares = counts / counts.sum() if len(names) else np.zeros(0)
    same = float((ends[0] == ends[1]).mean()) if len(links.row) else 0.0
    return Homophily(same, float((shares**2).sum()), len(links.row) // 2)


def homophily_text(found: Homophily) -> str:
    """The sentence of the report."""
    if not found.edges:
        return "No edge joins two training nodes, so homophily is unknown."
    gain = found.share - found.chance
    how = "neighbours are alike" if gain > CLEAR else "neighbours differ" if gain < -CLEAR else "edges tell little"
    return (
        f"Homophily: {found.share:.1%} of the {found.edges} edges between training nodes join nodes of one class, "
        f"{found.chance:.1%} would by chance: {how}."
    )
