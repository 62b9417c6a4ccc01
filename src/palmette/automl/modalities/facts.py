"""What planning knows of an algorithm of a modality, whatever the data."""

from __future__ import annotations

import math
from typing import NamedTuple

from palmette.automl.artefacts import Track

MOST_PAIRED = 20_000
"""Rows above which the distances of all pairs of them take too long."""


class AlgorithmFacts(NamedTuple):
    """Of one algorithm."""

    track: Track = "traditional"
    families: frozenset[str] = frozenset()
    """What a request may call it, beside its name."""
    readable: bool = False
    """Whether a person can read its model."""
    most_rows: float = math.inf
    """To learn from."""
