"""What a report is written from: the artefacts of a run, and what was measured of the delivered model."""

from __future__ import annotations

from dataclasses import dataclass, field

from palmette.automl.artefacts import Assessment, Choice, Comparison, Knowledge, Plans, Repair, TrackRun
from palmette.automl.data import Dataset
from palmette.automl.evidence import Evidence
from palmette.automl.modalities import Blueprint
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.automl.wording import many


@dataclass(frozen=True)
class Findings:
    """Everything that a report shows."""

    requirements: Requirements
    dataset: Dataset
    profile: Profile
    assessment: Assessment
    blueprint: Blueprint | None = None
    """None where a run had none."""
    tracks: tuple[TrackRun, ...] = ()
    """What was trained, and for how long."""
    repairs: tuple[Repair, ...] = ()
    """Of the project's code."""
    comparison: Comparison | None = None
    """None where nothing was compared."""
    knowledge: Knowledge | None = None
    plans: Plans | None = None
    choice: Choice | None = None
    """None, as the plans, where a run went without."""
    evidence: Evidence = field(default_factory=Evidence)
    made: str = ""
    """When and in which run, as it is to be shown."""

    @property
    def milliseconds(self) -> float | None:
        """Of a request for one row, median; None where that was not measured."""
        return self.evidence.latency.p50 if self.evidence.latency else self.assessment.milliseconds

    @property
    def rows_are(self) -> str:
        """Which rows the scores are of."""
        learnt = "training rows" if self.evidence.grouping else "training rows, out of fold"
        return many(self.assessment.rows, "held-out row") if self.assessment.rows else learnt
