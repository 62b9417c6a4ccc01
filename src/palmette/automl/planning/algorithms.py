"""The algorithms that can be planned: those of task and tracks that are installed; what a request's words mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from palmette.automl.artefacts import Track
from palmette.automl.modalities.tabular import TRACKS, installed
from palmette.automl.modalities.tabular.algorithms import BOOSTING

TREES = frozenset({*BOOSTING, "extra_trees", "random_forest"})
READABLE = frozenset({"linear", "kmeans"})
"""Those whose model a person can read."""
CLUSTERING = ("kmeans", "gmm", "agglomerative", "spectral", "hdbscan")
MEANT: Mapping[str, frozenset[str]] = {
    "gradient_boosting": frozenset(BOOSTING),
    "tree_ensemble": TREES,
    "neural_network": frozenset({"mlp", "resnet", "tabm"}),
}
"""What a request may name that is more than one algorithm."""


def track_of(algorithm: str) -> Track:
    """The track that an algorithm belongs to; traditional where it is none of tables."""
    return next((track for track, family in TRACKS.items() if algorithm in family.algorithms), "traditional")


def available(task: str, tracks: Iterable[Track]) -> tuple[str, ...]:
    """The algorithms for a task that these tracks have here, in the order of preference."""
    if task == "clustering":
        return CLUSTERING if "traditional" in tracks else ()
    return tuple(name for track in tracks if track in TRACKS for name in installed(TRACKS[track].algorithms))


def meant(name: str) -> frozenset[str]:
    """The algorithms that a name in a request stands for: itself, or a family."""
    return MEANT.get(name, frozenset({name}))
