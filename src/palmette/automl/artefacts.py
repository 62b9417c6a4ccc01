"""What the actors of the AutoML environment hand to one another, beside requirements, data set, profile and blueprint.

In their order: settings, knowledge, plans, data plans, proposals, the choice, code, the assembly, the selection, the
assessment and the delivery.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from palmette.automl.requirements import Constraint
from palmette.automl.selection import Selection
from palmette.documents import Model
from palmette.engine.actor import Measurement, TextFile, Violation

Track = Literal["traditional", "neural", "pretrained", "autogluon"]
Status = Literal["pass", "partly", "fail"]
PREPARATION = "preprocess.py"
"""The file that makes features of rows, in every project."""


class Settings(Model):
    """How a run is to be done, beyond what is wanted of it."""

    seconds: float = Field(default=120.0, gt=0)
    """For training and scoring, all tracks together."""
    holdout: float = Field(default=0.2, ge=0, lt=1)
    """Share of the rows that no training sees; 0: none, and scores are out of fold."""
    plans: int = Field(default=3, ge=1, le=8)
    """Independent plans that are written."""
    seed: int = 0
    out: str = ""
    """Folder that the project is delivered to; the run folder's `delivered` where it is empty."""


class Insight(Model):
    """Something that is known to help on data or tasks like this one."""

    text: str
    """One sentence."""
    source: str
    """Where it is from, e.g. a paper with its year, or a run of one's own."""
    because: str
    """What in the requirements or the profile makes it apply here."""
    algorithms: tuple[str, ...] = ()
    """What it speaks for."""


class Knowledge(Model):
    """What was found that bears on the task."""

    insights: tuple[Insight, ...] = ()
    sources: tuple[str, ...] = ()
    """Where was looked, and what came of it."""


class Plan(Model):
    """One way to solve the task, from the data to the model."""

    name: str
    """A few words, kebab-case; unique among the plans of a run."""
    idea: str
    """What it bets on, in one sentence."""
    preparation: tuple[str, ...] = ()
    """Steps on the data, in order, each a sentence."""
    tracks: tuple[Track, ...] = ("traditional",)
    algorithms: tuple[str, ...] = ()
    """In the order in which they are to be tried; empty for all that are installed."""
    validation: str = ""
    """How candidates are compared, and why so."""
    tuning: str = ""
    """What is searched after the starting points."""
    ensemble: bool = True
    """Whether several models may be delivered together."""
    reasons: tuple[str, ...] = ()
    """The facts and insights that it rests on."""
    revision: int = 0
    """How often plans had to be revised before this one; from 1 on, `reasons` say what it answers."""


class Plans(Model):
    """Plans that were written independently of one another."""

    plans: tuple[Plan, ...]


class Treatment(Model):
    """What is done with a column, and why."""

    column: str
    action: Literal["number", "category", "boolean", "date parts", "words", "drop"]
    reason: str


class Derived(Model):
    """A feature that is computed from numbers or instants of the same row; missing where one of them is."""

    name: str
    """Letters, digits and single underscores."""
    operation: Literal[
        "sum", "difference", "product", "ratio", "mean", "least", "greatest", "square", "log", "elapsed", "missing"
    ]
    """difference: the first less the second; ratio: the first by the second; log: of 1 + x, with the sign of x;
    elapsed: days from the first instant to the second; missing: how many of them are."""
    columns: tuple[str, ...]
    """Columns that are numbers or yes and no; of instants for elapsed."""
    reason: str
    """Why a model could not find it easily by itself; one sentence."""


class DataPlan(Model):
    """A plan's part for the data: what the rows become before a model sees them."""

    plan: Plan
    treatments: tuple[Treatment, ...]
    steps: tuple[str, ...] = ()
    """What else is done, in order."""
    rows: int
    """To learn from."""
    features: int
    """That a model is given; of words and categories, as columns, not as their encodings."""


class Expectation(Model):
    """A candidate that was found without training, and what it is expected to be."""

    algorithm: str
    score: float | None
    """In the metric of the run; None where nothing is known that would allow a guess."""
    seconds: float
    """To train in all folds on two processors."""
    megabytes: float
    """As files."""
    milliseconds: float
    """To answer for one row."""
    reason: str


class Proposal(Model):
    """A plan's part for the models, with the part for the data that it rests on."""

    data: DataPlan
    candidates: tuple[Expectation, ...] = Field(min_length=1)
    """The most promising first."""
    folds: int = Field(ge=2)


class Rejected(Model):
    """A plan that was not chosen."""

    plan: str
    reason: str


class Choice(Model):
    """The proposal that is carried out, and why the others are not."""

    proposal: Proposal
    reason: str
    rejected: tuple[Rejected, ...] = ()


class Repair(Model):
    """A file that was written anew because the one before failed."""

    path: str
    failure: Literal["contract-unfulfilled", "contract-misused", "other"]
    """unfulfilled: what preprocessing gives is not what was agreed; misused: a model takes it for something else."""
    reason: str
    replaced: str = ""
    """Digest of the text that was there before: the same text again would be no repair."""
    by: Literal["model", "rules"] = "model"
    """Who has written it; the rules, where no model's text could be mended."""


class Code(Model):
    """Part of the delivered project."""

    files: tuple[TextFile, ...]
    repairs: tuple[Repair, ...] = ()
    """Of these files, oldest first."""


class TrackCode(Code):
    """The models of a track; one that cannot be had here has no files."""

    track: Track
    unavailable: str = ""
    """Why there are no files, and what would help."""


class TrackRun(Model):
    """What came of training a track."""

    track: Track
    folder: str
    """Of the fitted models and their predictions, in the store of the run."""
    seconds: float
    candidates: int
    """That finished."""
    failed: tuple[str, ...] = ()
    """What did not, and why."""
    note: str = ""


class Assembly(Code):
    """A project that runs: every file, and what training left."""

    store: str
    """Name of the folder with fitted models in the store of the run."""
    tracks: tuple[TrackRun, ...]
    failures: tuple[Violation, ...] = ()
    """How it failed on a sample; nothing was trained then."""


class Standing(Model):
    """A line of the leaderboard, measured by the harness from out-of-fold predictions."""

    name: str
    track: str
    """A track, `baseline`, or `ensemble`."""
    algorithm: str
    score: float
    low: float
    """Of the 95 % bootstrap interval."""
    high: float
    skill: float
    """Share of the dummy's error that is removed."""
    seconds: float
    chosen: bool = False


class Comparison(Model):
    """What was chosen, and what it was chosen from."""

    selection: Selection
    leaderboard: tuple[Standing, ...]
    better: bool
    """Whether the choice beats the best baseline by more than noise."""
    reason: str
    measured: str = "out of fold"
    """Where all these scores are from, in words."""


class Judged(Model):
    """A constraint or wish, and whether what was measured keeps it."""

    constraint: Constraint | None = None
    wish: str
    """In words."""
    measured: str
    """The number with its unit; why there is none, where nothing could be measured."""
    status: Status


class Score(Model):
    """A metric on the hold-out, with its 95 % bootstrap interval."""

    metric: str
    value: float
    low: float
    high: float
    baseline: float | None = None
    """Of the best baseline, on the same rows."""


class Worth(Model):
    """What a column is worth to the chosen model: how much worse the metric becomes when the column is shuffled."""

    column: str
    drop: float
    """On average; below 0 where the metric becomes better."""
    deviation: float
    """Of the drops of single shuffles."""


class CurveFact(Model):
    """What the strongest member is worth out of fold, learnt from so many rows."""

    rows: int
    score: float


class Assessment(Model):
    """The chosen model against the requirements, on rows that no training saw."""

    rows: int
    """Of the hold-out; 0 where there are too few for one, and scores are out of fold."""
    scores: tuple[Score, ...]
    """The metric of the run first, unless it is `unmeasured`."""
    unmeasured: str = ""
    """Why the metric of the run has no value on the hold-out, in a sentence; empty where it has one."""
    judged: tuple[Judged, ...] = ()
    status: Status
    """Of all together."""
    training_seconds: float
    megabytes: float
    milliseconds: float | None = None
    """Of a request for one row over HTTP, median; None where no constraint asked for it before delivery."""
    worths: tuple[Worth, ...] = ()
    """The most valuable column first; nothing where there is no hold-out."""
    curve: tuple[CurveFact, ...] = ()
    """By rows; nothing where it would have taken too long."""
    answers: TextFile | None = None
    """What the model said of the hold-out, as `predict.py` writes it; the truth stays with the data."""


class Delivery(Model):
    """What was handed over, and what was measured on it."""

    folder: str
    files: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    p50: float
    """Milliseconds of a request for one row over HTTP, median."""
    p95: float
