"""Artefacts that the actors of the AutoML environment exchange, in order from knowledge to delivery.

The `task` (`TaskSpec`), the `samples`, the `profile` and the `blueprint` have their own modules.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import Field

from palmette.automl.candidates import Candidate, Cost, Derived, Ensembling, OwnCode, Selection
from palmette.automl.kinds import Kind, Track
from palmette.automl.task_spec.spec import Constraint
from palmette.documents import Model
from palmette.engine.actor import Measurement, TextFile, Violation
from palmette.errors import DeveloperError
from palmette.knowledge import KnowledgeFinding

Status = Literal["pass", "partly", "fail"]


class Knowledge(Model):
    """What is known to help on similar data or tasks."""

    insights: tuple[KnowledgeFinding, ...] = ()
    sources: tuple[str, ...] = ()
    """Searched sources, with the outcome of each search."""


class Plan(Model):
    """An ordered list of candidates, shares of the budget, and an ensembling policy."""

    name: str
    """A few words, kebab-case; unique among the plans of a run."""
    idea: str
    """Its assumption about the data, in one sentence."""
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    shares: Mapping[Track, float] = Field(default_factory=dict)
    """Share of the training time by track; empty for equal shares."""
    ensembling: Ensembling = "best"
    tuning: bool = True
    """Whether the remaining time is spent on tuning the settings of `tuned` candidates."""
    reasons: tuple[str, ...] = ()
    """The facts and insights that it is based on."""
    revision: int = 0
    """Number of earlier revisions."""


class MeasuredCandidate(Model):
    """A candidate after training."""

    candidate: Candidate
    score: float
    seconds: float


class MeasuredRound(Model):
    """Measurements of an executed plan.

    As JSON they are the evidence of the violation `constraint-missed` or `score-missed` that leads to new plans.
    """

    plan: Plan
    candidates: tuple[MeasuredCandidate, ...]
    selection: Selection
    """The delivered model, so that a later round can restore it."""
    store: str
    """Of its out-of-fold outputs."""
    milliseconds: float | None = None
    """Median time to answer a one-row request; None if the endpoint did not start."""
    megabytes: float
    seconds: float
    """Of search and final fit."""
    fit_seconds: float = 0.0
    missed: tuple[Constraint, ...] = ()

    @property
    def misses_limit(self) -> bool:
        """Whether a limit is missed, rather than only a score."""
        return any(one.quantity != "score" for one in self.missed)


class Plans(Model):
    """Independently drafted plans."""

    plans: tuple[Plan, ...] = Field(min_length=1)
    rounds: tuple[MeasuredRound, ...] = ()
    """Measurements of earlier plans, which estimates and the remaining time are based on."""
    tried: tuple[str, ...] = ()
    """Digests of earlier plans that were rejected or executed; none is drafted again."""


class Treatment(Model):
    """How a column is used, and why."""

    column: str
    kind: Kind | Literal["drop"]
    """Differs from the detected kind only if every value allows it."""
    reason: str


class DataPlan(Model):
    """The data steps of all plans: treatments, derived features and encoders."""

    treatments: tuple[Treatment, ...]
    """One for each column except the target."""
    derived: tuple[Derived, ...] = ()
    encoders: Mapping[str, Mapping[Kind, str]] = Field(default_factory=dict)
    """By plan and kind, the encoder of candidates that specify none."""
    reason: str = ""


class Estimate(Model):
    """The expected cost of a candidate, without training it (training-free search)."""

    candidate: Candidate
    score: float | None = None
    """Out of fold, if it was trained in an earlier round."""
    cost: Cost

    def __str__(self) -> str:
        score = "" if self.score is None else f"scored {self.score:.4g}, "
        return f"{score}{self.cost}"


class Proposal(Model):
    """A plan with its data steps and the candidates worth training, most promising first."""

    plan: Plan
    data: DataPlan
    estimates: tuple[Estimate, ...] = Field(min_length=1)


class Proposals(Model):
    """One proposal for each plan that still has a candidate."""

    proposals: tuple[Proposal, ...]


class Choice(Model):
    """The proposal to execute, and why the others were rejected."""

    proposal: Proposal
    reason: str
    rejected: Mapping[str, str] = {}
    """Reasons against the other plans, by name."""


class CodeRepair(Model):
    """A module of own code that was rewritten or left out because it failed."""

    path: str
    failure: Literal["contract-unfulfilled", "contract-misused", "other"]
    """unfulfilled: the features break the contract; misused: a learner uses them wrongly."""
    reason: str
    replaced: str = ""
    """Digest of the text before the repair."""
    by: Literal["model", "rules"] = "model"
    """rules: the module is left out, and the run continues without it."""


class WrittenCode(Model):
    """Classes that a language model wrote for the task, and candidates that use them; empty by rule."""

    modules: tuple[OwnCode, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    repairs: tuple[CodeRepair, ...] = ()

    @classmethod
    def joined(cls, parts: Sequence[WrittenCode]) -> WrittenCode:
        fields = {name: tuple(chain.from_iterable(getattr(one, name) for one in parts)) for name in cls.model_fields}
        return cls.model_validate(fields)


class TrackRun(Model):
    """The outcome of training a track."""

    track: Track
    seconds: float
    candidates: int
    failed: tuple[str, ...] = ()


class Assembly(Model):
    """The results of a search, kept in the run's store."""

    store: str
    """Name of the folder in the store, with trials and out-of-fold outputs."""
    tracks: tuple[TrackRun, ...]
    modules: tuple[OwnCode, ...] = ()
    repairs: tuple[CodeRepair, ...] = ()
    seconds: float = 0.0
    processor_seconds: float = 0.0
    overrun: float = 0.0
    failures: tuple[Violation, ...] = ()
    """Why nothing was trained."""


class LeaderboardRow(Model):
    """A candidate, scored by the harness from verified out-of-fold outputs."""

    name: str
    track: str
    """A track, `baseline`, or `ensemble`."""
    learner: str
    score: float
    low: float
    high: float
    error_reduction: float
    """Share of the dummy's error that it removes."""
    seconds: float
    chosen: bool = False
    candidate: Candidate | None = None
    """None for an ensemble."""


class Comparison(Model):
    """The selection and the leaderboard behind it."""

    selection: Selection
    leaderboard: tuple[LeaderboardRow, ...]
    reason: str
    measured: str = "out of fold"
    """Origin of the scores, in words."""
    package: str
    """Folder of the package and its fitted model in the run's store."""
    store: str = ""
    """Of the out-of-fold outputs, if they come from an earlier round."""
    baseline: str
    """Folder of the fitted best baseline in the run's store; empty if there is none."""
    files: tuple[TextFile, ...]
    fit_seconds: float


class ConstraintResult(Model):
    """A constraint or wish, and whether the measurements meet it."""

    constraint: Constraint | None = None
    wish: str
    measured: str
    """The measured value with its unit, or the reason why there is none."""
    status: Status
    """partly: the limit lies within the uncertainty of the measurement."""


class Score(Model):
    """A metric on the hold-out, with its 95 % bootstrap interval."""

    metric: str
    value: float
    low: float
    high: float
    baseline: float | None = None


class Occlusion(Model):
    """The effect of covering parts of a held-out row's file on the prediction."""

    row: int
    changes: tuple[float, ...]
    """By part: the drop in the probability of the predicted class, or the change of a predicted number."""


class FeatureImportance(Model):
    """How much worse the metric becomes if a column is shuffled."""

    column: str
    drop: float
    deviation: float


class Latency(Model):
    """Milliseconds to answer a one-row request over HTTP, after a warm-up."""

    p50: float
    p95: float
    low: float
    """Lowest median over blocks of requests, to show the spread."""
    high: float
    requests: int
    batch_seconds: float | None = None


class Assessment(Model):
    """The verdict: the delivered model, measured once. Screen, report, card and JSON all show this object."""

    rows: int
    """Number of hold-out rows; 0 if there is no hold-out and scores are out of fold."""
    scores: tuple[Score, ...]
    """The run's metric comes first, unless it is `unmeasured`."""
    unmeasured: str = ""
    """Why the run's metric has no value on the hold-out, as a sentence; empty if it has one."""
    better: bool
    """Whether the delivered model beats the best baseline on the hold-out by more than noise."""
    better_reason: str
    """The reason as a sentence with numbers."""
    results: tuple[ConstraintResult, ...] = ()
    status: Status
    """Combined status of all constraints; pass if there are none."""
    training_seconds: float
    """Total time of searches and final fits, over all rounds."""
    megabytes: float
    latency: Latency | None = None
    parameters: int | None = None
    importances: tuple[FeatureImportance, ...] = ()
    occlusions: tuple[Occlusion, ...] = ()
    answers: TextFile | None = None


class Delivery(Model):
    """The delivered files."""

    folder: str
    package: str
    files: tuple[str, ...]
    measurements: tuple[Measurement, ...]


class Store:
    """Named folders for data too large for artefacts, or binary; artefacts refer to them by name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        """Returns the folder with a name; it may not exist."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise DeveloperError(f"{name!r} does not name a folder in the store.", code="store-name")
        return self.root / name

    def fresh(self, name: str) -> Path:
        """Returns an empty folder with a name; deletes its earlier contents."""
        folder = self.folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder
