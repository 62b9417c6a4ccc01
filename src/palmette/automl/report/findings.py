"""What a report is written from: the artefacts of a run, and what was measured of the delivered model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.artefacts import Assessment, Choice, Comparison, Knowledge, Plans
from palmette.automl.data import Dataset
from palmette.automl.measure import Predictions
from palmette.automl.measure.metrics import Floats
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements

Measured = Literal["predictions", "importances", "curve", "timeline", "tokens", "money", "grouping"]


class Importance(NamedTuple):
    """What a column is worth to the model."""

    column: str
    drop: float
    """By how much the metric worsens, on average, when the column is shuffled; below 0 where it improves."""
    deviation: float
    """Of the drops of single shuffles."""


class CurvePoint(NamedTuple):
    """What the model would be, learnt from fewer rows."""

    rows: int
    score: float


class Stage(NamedTuple):
    """A part of the run."""

    name: str
    seconds: float


class Latency(NamedTuple):
    """Of a request for one row over HTTP."""

    p50: float
    """Milliseconds, median."""
    p95: float


@dataclass(frozen=True)
class Grouping:
    """Of a clustering."""

    sizes: tuple[int, ...]
    """Rows by group."""
    silhouettes: tuple[tuple[int, float], ...] = ()
    """By number of groups tried."""
    projection: Floats | None = None
    """(n, 2): rows, or some of them, in the plane."""
    groups: NDArray[np.intp] | None = None
    """(n,): the group of each row of the projection, from 0."""


@dataclass(frozen=True)
class Evidence:
    """What was measured of the delivered model. Whatever is missing the report calls not measured."""

    truth: NDArray[np.generic] | None = None
    """(n,): class names as text, or numbers, of the hold-out; of the training rows where there is no hold-out."""
    predictions: Predictions | None = None
    """Of the same rows; out of fold where there is no hold-out."""
    importances: tuple[Importance, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    timeline: tuple[Stage, ...] = ()
    """In the order of the run."""
    tokens: int | None = None
    """Of language models, in and out; 0 where none was asked."""
    money: float | None = None
    """US dollars."""
    latency: Latency | None = None
    """None where only the assessment's median is known, or nothing."""
    grouping: Grouping | None = None
    missing: Mapping[Measured, str] = field(default_factory=dict)
    """Why something was not measured, in a sentence."""


@dataclass(frozen=True)
class Findings:
    """Everything that a report shows."""

    requirements: Requirements
    dataset: Dataset
    profile: Profile
    assessment: Assessment
    blueprint: Blueprint | None = None
    """None for a clustering."""
    comparison: Comparison | None = None
    """None where nothing was compared."""
    knowledge: Knowledge | None = None
    plans: Plans | None = None
    choice: Choice | None = None
    """None, as the plans, where a run went without."""
    evidence: Evidence = Evidence()
    made: str = ""
    """Date, as it is to be shown."""

    @property
    def milliseconds(self) -> float | None:
        """Of a request for one row, median; None where that was not measured."""
        return self.evidence.latency.p50 if self.evidence.latency else self.assessment.milliseconds

    @property
    def rows_are(self) -> str:
        """Which rows the scores are of."""
        return "held-out rows" if self.assessment.rows else "training rows, out of fold"
