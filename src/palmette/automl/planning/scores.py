"""What a candidate is expected to score before it is trained: the skill it had on the most similar measured data."""

from __future__ import annotations

from typing import NamedTuple

from palmette.automl.measure import Metric
from palmette.automl.profile import Profile


class Expected(NamedTuple):
    """A guess that rests on measurements of other data."""

    skill: float | None
    """Share of the dummy's error that is removed; None where nothing comparable was measured."""
    score: float | None
    """In the metric of the run; None where the dummy's score cannot be told from the profile."""
    reason: str


def expected(algorithm: str, profile: Profile, metric: Metric | None) -> Expected:
    """What an algorithm is expected to score, and why."""
    return Expected(None, None, "")
