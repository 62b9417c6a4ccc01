"""The algorithms that can be planned: those of a task and a track that are installed, and what a request's words mean."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping

from palmette.automl.artefacts import Track
from palmette.automl.modalities.tabular import ALGORITHMS, installed
from palmette.automl.modalities.tabular.algorithms import BOOSTING

TREES = frozenset({*BOOSTING, "extra_trees", "random_forest"})
CLUSTERING = ("kmeans", "gmm", "agglomerative", "spectral", "hdbscan")
OTHERS: Mapping[Track, tuple[str, str]] = {
    "neural": ("resnet", "torch"),
    "pretrained": ("tabpfn", "tabpfn"),
    "autogluon": ("autogluon", "autogluon"),
}
"""By track: its algorithm, and the library that it needs."""
MEANT: Mapping[str, frozenset[str]] = {
    "gradient_boosting": frozenset(BOOSTING),
    "tree_ensemble": TREES,
    "neural_network": frozenset({"mlp", "resnet"}),
    "ensemble": frozenset({*ALGORITHMS, *CLUSTERING, *(name for name, _ in OTHERS.values())}),
}
"""What a request may name that is more than one algorithm."""


def track_of(algorithm: str) -> Track:
    """The track that an algorithm belongs to."""
    return next((track for track, (name, _) in OTHERS.items() if name == algorithm), "traditional")


def available(task: str, tracks: Iterable[Track]) -> tuple[str, ...]:
    """The algorithms for a task that these tracks have here, in the order of preference."""
    wanted = set(tracks)
    if task == "clustering":
        return CLUSTERING if "traditional" in wanted else ()
    usual: tuple[str, ...] = installed() if "traditional" in wanted else ()
    others = [
        name
        for track, (name, library) in OTHERS.items()
        if track in wanted and importlib.util.find_spec(library) is not None
    ]
    return (*usual, *others)


def meant(name: str) -> frozenset[str]:
    """The algorithms that a name in a request stands for: itself, or a family."""
    return MEANT.get(name, frozenset({name}))
