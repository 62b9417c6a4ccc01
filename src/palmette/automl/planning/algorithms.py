"""The algorithms that can be planned: those of task and tracks that are installed; what a request's words mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from palmette.automl.artefacts import Track
from palmette.automl.modalities import MODALITIES, AlgorithmFacts, modality_for
from palmette.automl.profile import Profile

KNOWN: Mapping[str, AlgorithmFacts] = MappingProxyType(
    {name: facts for modality in MODALITIES.values() for name, facts in modality.FACTS.items()}
)
"""Of every modality, by name."""
READABLE = frozenset(name for name, facts in KNOWN.items() if facts.readable)
"""Those whose model a person can read."""


def track_of(algorithm: str) -> Track:
    """The track that an algorithm belongs to; traditional where no modality has it."""
    return KNOWN.get(algorithm, AlgorithmFacts()).track


def available(profile: Profile, tracks: Sequence[Track]) -> tuple[str, ...]:
    """The algorithms that these tracks have here for a task and so many rows, in the order of preference."""
    found, rows = modality_for(profile.aim.task).available(tracks), profile.holdout.training_rows
    return tuple(name for name in found if rows <= KNOWN[name].most_rows)


def meant(name: str) -> frozenset[str]:
    """The algorithms that a name in a request stands for: a family, or itself."""
    return frozenset(one for one, facts in KNOWN.items() if name in facts.families) or frozenset({name})


TREES = meant("tree_ensemble")
