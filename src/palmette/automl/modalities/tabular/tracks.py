"""The tracks: families of models, each a file in the project, and which of them can be had on this machine."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from palmette.automl.modalities.facts import MOST_PAIRED, AlgorithmFacts
from palmette.automl.modalities.tabular.algorithms import (
    ALGORITHMS,
    BOOSTING,
    CLASSICAL,
    LIBRARIES,
    NETWORKS,
    Algorithm,
    Track,
    installed,
)


class Family(NamedTuple):
    """What a track consists of."""

    algorithms: tuple[Algorithm, ...]
    """In the order of preference."""
    files: Mapping[str, Collection[Algorithm]]
    """Paths in the project, each with the algorithms that need it."""


TABPFN: tuple[Algorithm, ...] = ("tabpfn",)
AUTOGLUON: tuple[Algorithm, ...] = ("autogluon",)
TRACKS: Mapping[Track, Family] = {
    "traditional": Family(
        ALGORITHMS,
        {
            "models/traditional.py": ALGORITHMS,
            "models/boosting.py": BOOSTING,
            "models/classical.py": CLASSICAL,
        },
    ),
    "neural": Family(
        tuple(NETWORKS),
        {"models/neural.py": NETWORKS, "models/networks.py": NETWORKS, "models/layers.py": NETWORKS},
    ),
    "pretrained": Family(TABPFN, {"models/pretrained.py": TABPFN}),
    "autogluon": Family(AUTOGLUON, {"models/autogluon.py": AUTOGLUON}),
}
FAMILIES: Mapping[str, Collection[Algorithm]] = {
    "gradient_boosting": BOOSTING,
    "tree_ensemble": {*BOOSTING, "extra_trees", "random_forest"},
    "neural_network": {*NETWORKS, "mlp"},
}
"""What a request may name that is more than one algorithm."""


def facts_of(algorithm: Algorithm, track: Track) -> AlgorithmFacts:
    """What planning knows of an algorithm of a track."""
    return AlgorithmFacts(
        track,
        frozenset(name for name, members in FAMILIES.items() if algorithm in members),
        readable=algorithm == "linear",
        most_rows=MOST_PAIRED if algorithm == "knn" else math.inf,
    )


FACTS: Mapping[str, AlgorithmFacts] = {
    name: facts_of(name, track) for track, family in TRACKS.items() for name in family.algorithms
}


def wanted_in(track: Track, wanted: Iterable[Algorithm]) -> tuple[Algorithm, ...]:
    """The wanted algorithms that the track has; where it has none of them, all of its own that are installed."""
    algorithms = TRACKS[track].algorithms
    return tuple(one for one in wanted if one in algorithms) or installed(algorithms) or algorithms


def available(track: Track) -> str:
    """Why the track cannot be used on this machine, and what would help; empty where it can."""
    algorithms = TRACKS[track].algorithms
    if not installed(algorithms):
        needs = ", ".join(sorted({LIBRARIES[one] for one in algorithms}))
        return f"The track {track!r} needs a package that is not installed: `pip install {needs}` brings it."
    if track == "pretrained" and not any(weights().glob("*.ckpt")):
        return (
            f"The track 'pretrained' needs the weights of TabPFN, and {weights()} has none: "
            "fetch them as its documentation says, or name their folder in TABPFN_MODEL_CACHE_DIR."
        )
    return ""


def weights() -> Path:
    """The folder where TabPFN looks for its weights."""
    named = os.environ.get("TABPFN_MODEL_CACHE_DIR", "")
    usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    cache = os.environ.get("XDG_CACHE_HOME", "") or usual
    return Path(named) if named else Path(cache) / "tabpfn"
