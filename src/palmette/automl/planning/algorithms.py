"""The algorithms that can be planned: those of task and tracks that are installed; what a request's words mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palmette.automl.artefacts import Track
from palmette.automl.modalities import modality_for
from palmette.automl.modalities.tabular import TRACKS
from palmette.automl.modalities.tabular.algorithms import BOOSTING
from palmette.automl.modalities.tabular.starts import NEIGHBOURS
from palmette.automl.profile import Profile

TREES = frozenset({*BOOSTING, "extra_trees", "random_forest"})
READABLE = frozenset({"linear", "kmeans"})
"""Those whose model a person can read."""
OF_PAIRS = frozenset({"knn", "agglomerative", "spectral"})
"""Those that take the distances of all pairs of rows."""
MEANT: Mapping[str, frozenset[str]] = {
    "gradient_boosting": frozenset(BOOSTING),
    "tree_ensemble": TREES,
    "neural_network": frozenset({"mlp", "resnet", "tabm"}),
}
"""What a request may name that is more than one algorithm."""


def track_of(algorithm: str) -> Track:
    """The track that an algorithm belongs to; traditional where it is none of tables."""
    return next((track for track, family in TRACKS.items() if algorithm in family.algorithms), "traditional")


def available(profile: Profile, tracks: Sequence[Track]) -> tuple[str, ...]:
    """The algorithms that these tracks have here for a task and so many rows, in the order of preference."""
    found = modality_for(profile.aim.task).available(tracks)
    many = profile.holdout.training_rows > NEIGHBOURS
    return tuple(name for name in found if not (many and name in OF_PAIRS))


def meant(name: str) -> frozenset[str]:
    """The algorithms that a name in a request stands for: itself, or a family."""
    return MEANT.get(name, frozenset({name}))
