"""What the actors of the AutoML environment hand to one another, in their order: from knowledge to the delivery.

The `task` (`TaskSpec`), the `samples`, the `profile` and the `blueprint` have modules of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from palmette.automl.candidates import Candidate, Derived, Ensembling, OwnCode
from palmette.automl.kinds import Kind, Track
from palmette.automl.task_spec.spec import Constraint
from palmette.automl.trials import Selection
from palmette.documents import Model
from palmette.engine.actor import Measurement, TextFile, Violation
from palmette.knowledge import SuggestedCandidate

Status = Literal["pass", "partly", "fail"]


class Insight(Model):
    """Something that is known to help on data or tasks like this one."""

    text: str
    """One sentence."""
    source: str
    """E.g. a paper with its year, or an earlier run."""
    because: str
    """What in the task or the profile makes it apply here."""
    learners: tuple[str, ...] = ()
    """What it speaks for."""
    candidates: tuple[SuggestedCandidate, ...] = ()
    """What it proposes to train."""


class Knowledge(Model):
    """What was found that bears on the task."""

    insights: tuple[Insight, ...] = ()
    sources: tuple[str, ...] = ()
    """Where was looked, and what came of it."""


class Plan(Model):
    """An ordered list of candidates, shares of the budget, and a policy for ensembles."""

    name: str
    """A few words, kebab-case; unique among the plans of a run."""
    idea: str
    """What it bets on, in one sentence."""
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    """In the order in which they are trained."""
    shares: Mapping[Track, float] = Field(default_factory=dict)
    """Of the training time, by track; equal where it is empty."""
    ensembling: Ensembling = "best"
    tuning: bool = True
    """Whether time that is left is spent on the settings of `tuned` candidates."""
    reasons: tuple[str, ...] = ()
    """The facts and insights that it rests on."""
    insights: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """By source of an insight: the candidates that follow from it."""
    revision: int = 0
    """How often plans had been revised before this one."""


class MeasuredCandidate(Model):
    """A candidate after training."""

    candidate: Candidate
    score: float
    """Out of fold."""
    seconds: float
    """Of all its fits."""


class MeasuredRound(Model):
    """Measured numbers of a plan that missed a constraint. `planning.rounds.measured_round` makes one; as JSON it is
    the evidence of the violation `constraint-missed` or `score-missed` that sends the run back to the plans."""

    plan: str
    """Name of the plan that was carried out."""
    candidates: tuple[MeasuredCandidate, ...]
    """The strongest first."""
    members: tuple[str, ...]
    """Names of the candidates in the delivered model."""
    milliseconds: float | None = None
    """To answer a request for one row, median; None where the endpoint did not start."""
    megabytes: float
    """Of the delivered model."""
    seconds: float
    """That search and final fit took of the budget."""
    missed: tuple[Constraint, ...] = ()
    score: float | None = None
    """Of the delivered model, out of fold."""
    selection: Selection | None = None
    """What was delivered, so that it can be again."""
    store: str = ""
    """Of its out-of-fold outputs."""

    @property
    def excess(self) -> float:
        """By what factor the delivered model misses the limits on latency and size at most, in steps of a tenth."""
        measured = {"latency": (self.milliseconds or 0.0) / 1000, "size": self.megabytes * 1e6}
        ratios = (measured.get(one.quantity, 0.0) / one.value for one in self.missed if one.value > 0)
        return round(max(ratios, default=0.0), 1)


class Plans(Model):
    """Plans that were drafted independently of one another."""

    plans: tuple[Plan, ...] = Field(min_length=1)
    rounds: tuple[MeasuredRound, ...] = ()
    """What earlier plans measured: estimates, and the seconds that are left, follow from it."""
    tried: tuple[str, ...] = ()
    """Digests of earlier plans that were rejected or carried out; none is drafted again."""


class Treatment(Model):
    """What is done with a column, and why."""

    column: str
    kind: Kind | Literal["drop"]
    """What it is taken for; another kind than it was read as where every value allows for that."""
    reason: str


class DataPlan(Model):
    """A plan's data steps: what the rows become before a learner sees them."""

    plan: str
    """The plan's name."""
    treatments: tuple[Treatment, ...]
    """One for each column but the target."""
    derived: tuple[Derived, ...] = ()
    encoders: Mapping[Kind, str] = Field(default_factory=dict)
    """By kind: the encoder for every candidate of the plan that names none itself."""
    reason: str = ""


class DataPlans(Model):
    """One for each plan, in the same order."""

    data_plans: tuple[DataPlan, ...]


class Estimate(Model):
    """A candidate, and what it is expected to be without training (training-free search)."""

    candidate: Candidate
    score: float | None
    """In the metric of the run; None where nothing comparable was measured."""
    seconds: float
    """To train in all folds on one thread."""
    megabytes: float
    milliseconds: float
    """To answer for one row."""
    reason: str


class Proposal(Model):
    """A plan with its data steps and the candidates that are worth training, the most promising first."""

    plan: Plan
    data: DataPlan
    estimates: tuple[Estimate, ...] = Field(min_length=1)
    """Of the candidates that are trained, in this order."""


class Proposals(Model):
    """One for each plan that leaves a candidate."""

    proposals: tuple[Proposal, ...]


class RejectedPlan(Model):
    """A plan that was not chosen."""

    plan: str
    reason: str


class Choice(Model):
    """The proposal that is carried out, and why the others are not."""

    proposal: Proposal
    reason: str
    rejected: tuple[RejectedPlan, ...] = ()


class CodeRepair(Model):
    """A module of own code that was written anew, or left out, because it failed."""

    path: str
    failure: Literal["contract-unfulfilled", "contract-misused", "other"]
    """unfulfilled: features are not what was agreed; misused: a learner takes them for something else."""
    reason: str
    replaced: str = ""
    """Digest of the text that was there before."""
    by: Literal["model", "rules"] = "model"
    """rules: the module is left out, and the run goes on with registered plug-ins alone."""


class WrittenCode(Model):
    """Own code for the task: classes that a model has written, and candidates that use them. Empty by the rules."""

    modules: tuple[OwnCode, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    """Beside those of the plan."""
    repairs: tuple[CodeRepair, ...] = ()


class TrackCode(WrittenCode):
    """Own learners of a track, and whether the track can be used here."""

    track: Track
    unavailable: str = ""
    """Why the track cannot be used, and what would help; empty where it can."""


class TrackRun(Model):
    """What came of training a track."""

    track: Track
    seconds: float
    """Wall time of its fits, shared by those that ran side by side."""
    candidates: int
    """That finished."""
    failed: tuple[str, ...] = ()
    """Candidates that did not, with the reason."""


class Assembly(Model):
    """What the search left in the store of the run."""

    store: str
    """Name of the folder in the store: job, trials, out-of-fold outputs."""
    tracks: tuple[TrackRun, ...]
    modules: tuple[OwnCode, ...] = ()
    """Own code as it ran."""
    repairs: tuple[CodeRepair, ...] = ()
    seconds: float = 0.0
    """Of the search, by the clock."""
    processor_seconds: float = 0.0
    overrun: float = 0.0
    """Seconds beyond its share of the budget."""
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
    """Of the 95 % bootstrap interval."""
    high: float
    error_reduction: float
    """Share of the dummy's error that is removed."""
    seconds: float
    chosen: bool = False
    candidate: Candidate | None = None
    """None for an ensemble."""


class Comparison(Model):
    """What was chosen, and what it was chosen from."""

    selection: Selection
    leaderboard: tuple[LeaderboardRow, ...]
    reason: str
    measured: str = "out of fold"
    """Where these scores are from, in words."""
    package: str
    """Folder of the built package with its fitted model, in the store of the run."""
    store: str = ""
    """Of the out-of-fold outputs, where they are of an earlier round."""
    baseline: str
    """Folder of the fitted best baseline, in the store of the run; empty where there is none."""
    files: tuple[TextFile, ...]
    """The package's own files."""
    fit_seconds: float
    """Of the final fit."""


class ConstraintResult(Model):
    """A constraint or wish, and whether what was measured keeps it."""

    constraint: Constraint | None = None
    wish: str
    """In words."""
    measured: str
    """The number with its unit; why there is none, where nothing could be measured."""
    status: Status
    """partly: the limit lies within the spread of the measurement."""


class Score(Model):
    """A metric on the hold-out, with its 95 % bootstrap interval."""

    metric: str
    value: float
    low: float
    high: float
    baseline: float | None = None
    """Of the best baseline, on the same rows."""


class Occlusion(Model):
    """What covering parts of a held-out row's file does to the answer."""

    row: int
    """Position in the hold-out."""
    changes: tuple[float, ...]
    """By part: what the probability of the predicted class loses, or how far a predicted number moves."""


class FeatureImportance(Model):
    """How much worse the metric becomes when a column is shuffled."""

    column: str
    drop: float
    """On average; below 0 where the metric becomes better."""
    deviation: float


class Latency(Model):
    """Of a request for one row over HTTP, in milliseconds, after a warm-up."""

    p50: float
    p95: float
    low: float
    """Of the medians of blocks of requests: the spread of the measurement."""
    high: float
    requests: int
    batch_seconds: float | None = None
    """To answer all rows of the hold-out; None where nothing asks for it."""


class Assessment(Model):
    """The one verdict: what is delivered, measured once. Screen, report, card and JSON show this object."""

    rows: int
    """Of the hold-out; 0 where there is none, and scores are out of fold."""
    scores: tuple[Score, ...]
    """The metric of the run first, unless it is `unmeasured`."""
    unmeasured: str = ""
    """Why the metric of the run has no value on the hold-out, in a sentence; empty where it has one."""
    better: bool
    """Whether the delivered model beats the best baseline on the hold-out by more than noise."""
    better_reason: str
    """In a sentence, with the numbers."""
    results: tuple[ConstraintResult, ...] = ()
    status: Status
    """Of all constraints together; pass where there are none."""
    training_seconds: float
    """Searches and final fits of all rounds."""
    megabytes: float
    latency: Latency | None = None
    """None where the endpoint did not start."""
    parameters: int | None = None
    importances: tuple[FeatureImportance, ...] = ()
    occlusions: tuple[Occlusion, ...] = ()
    """Of some files, where rows have files."""
    answers: TextFile | None = None
    """Predictions of the hold-out as the package writes them, without the truth."""


class Delivery(Model):
    """What was handed over."""

    folder: str
    package: str
    """Name of the package in it."""
    files: tuple[str, ...]
    measurements: tuple[Measurement, ...]
