"""The tracks: families of models, each a file in the project, and which of them can be had on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

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
}


def wanted_in(track: Track, wanted: Iterable[Algorithm]) -> tuple[Algorithm, ...]:
    """The wanted algorithms that the track has; where it has none of them, all of its own that are installed."""
    algorithms = TRACKS[track].algorithms
    return tuple(one for one in wanted if one in algorithms) or installed(algorithms) or algorithms


def available(track: Track) -> str:
    """Why the track cannot be used on this machine, and what would help; empty where it can."""
    if track not in TRACKS:
        return f"No models of the track {track!r} are written by this version."
    if not installed(TRACKS[track].algorithms):
        needs = ", ".join(sorted({LIBRARIES[one] for one in TRACKS[track].algorithms}))
        return f"The track {track!r} needs a package that is not installed: {needs}. `pip install {needs}` brings it."
    return ""
