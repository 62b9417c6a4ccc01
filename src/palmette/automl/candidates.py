"""Candidates, the blueprint, trials and the selection: what is trained on which columns, and what came of it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from palmette.automl.kinds import Kind, Track, file_kinds
from palmette.automl.samples import ArrayUse, Reading, TableFormat
from palmette.automl.task_spec.spec import Threshold
from palmette.documents import Model

WHOLE = re.compile(r"-?(0|[1-9]\d*)")
Rounds = Annotated[int, Field(ge=0, le=1_000_000)]
Setting = str | bool | int | float | None
Ensembling = Literal["single", "best", "mean", "weighted", "stacking", "voting"]
"""single: one model, even if an ensemble scores better; best: like `weighted`, but one model unless the ensemble is
better by more than noise; mean: equal weights for the best few; weighted: greedy selection; stacking: a linear model
of their outputs; voting: the majority of their labels.
"""
Operation = Literal[
    "sum", "difference", "product", "ratio", "mean", "least", "greatest", "square", "log", "elapsed", "missing",
    "hour", "weekday", "day", "month",
]  # fmt: skip


Balance = Literal["none", "weights", "oversample", "undersample"]
"""How the classes of a fold's training rows are balanced: by weights of rows, or by drawing rows."""


class Strategy(Model):
    """Processing around any learner."""

    target_transform: Literal["none", "log", "log1p"] = "none"
    balance: Balance = "none"


class Candidate(Model):
    """A model to train: encoders, a learner, its settings, and a strategy."""

    name: str = Field(pattern=r"^[a-z0-9_]+(-[a-z0-9_]+)*$")
    """Unique in a plan; starts with the learner's name."""
    learner: str
    """A registered learner, or a class that a language model wrote."""
    encoders: Mapping[Kind, str] = Field(default_factory=dict)
    """Registered encoders by column kind, if different from the default for the learner's layout; `none` leaves out
    columns of a kind."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """Parameters that differ from the learner's defaults."""
    strategy: Strategy = Strategy()
    features: str = ""
    """An own encoder class that adds features."""
    derived: bool = True
    tuned: bool = False
    """Whether its settings are tuned once all candidates are trained."""
    reason: str = ""


LEFT_OUT = "none"  # in place of an encoder: the candidate does not use columns of the kind


def substance(candidate: Candidate) -> str:
    """Returns a key that is equal for candidates that are the same model under different names."""
    return json.dumps(candidate.model_dump(mode="json", exclude={"name", "reason", "tuned"}), sort_keys=True)


def first_of_each(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Returns the first candidate of each learner, in order."""
    found: dict[str, Candidate] = {}
    for one in candidates:
        found.setdefault(one.learner, one)
    return list(found.values())


class Derived(Model):
    """A feature computed from other columns of the same row; missing where one of them is."""

    name: str
    """Letters, digits and single underscores."""
    operation: Operation
    """product: of two or three; difference: the first less the second; ratio: the first by the second; log: of 1 + x,
    with the sign of x; elapsed: days from the first timestamp to the second; missing: how many of them are; hour (with
    minutes as a fraction), weekday (Monday is 0), day (of the month) and month: of a timestamp."""
    columns: tuple[str, ...]
    """Numeric or boolean columns, or features derived before it; timestamps for elapsed and parts of the calendar."""
    reason: str
    """Why a model could not find it easily by itself; one sentence."""


class ColumnUse(Model):
    """A column that models use."""

    name: str
    source: str = ""
    kind: Kind
    reading: Reading = Reading(form="native")
    note: str = ""
    """Findings, and why it is used this way: a comment in the delivered features.py."""
    categories: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Datetime: the extracted parts, e.g. month, weekday, hour, days."""
    words: float = 0.0
    array: ArrayUse | None = None
    """File columns whose numbers may replace it."""
    examples: tuple[str | bool | float | None, ...] = ()

    @property
    def in_file(self) -> str:
        """Its name in the frame that `pd.read_csv` returns for the user's file."""
        return self.source or self.name


class Folds(Model):
    """How training rows are split for out-of-fold predictions."""

    count: int = Field(default=5, ge=2)
    kind: Literal["stratified", "random", "grouped", "time"] = "random"
    by: str = ""


class SeriesUse(Model):
    """The horizon and columns of a forecast, decided from request and data."""

    targets: tuple[str, ...]
    time: str = ""
    frequency: str = "1"
    """A pandas offset, or the interval between numbered steps."""
    series: str = ""
    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    """Covariates known only up to the origin of a forecast."""
    holidays: str = ""
    """ISO code of the country whose holidays are covariates."""
    horizon: int = Field(ge=1)
    seasons: tuple[int, ...] = ()
    """Lengths of the detected seasons in steps, strongest first."""
    quantiles: tuple[float, ...] = ()
    shortest: int = 0
    """Length of the shortest training series, in steps."""
    count: int = 1
    """Number of series, each with all targets."""
    context: int = 0
    """Rows of each series that a forecast needs as input."""
    is_positive: bool = False

    @property
    def season(self) -> int:
        return self.seasons[0] if self.seasons else 1


class Blueprint(Model):
    """The specification of the model: a contract between the coders, the search and the delivered package."""

    package: str
    """Name of the delivered package: a Python identifier derived from target or data."""
    title: str
    problem: str
    target: str = ""
    target_in_file: str = ""
    target_reading: Reading = Reading(form="native")
    threshold: Threshold | None = None
    """Turns a numeric target into two classes."""
    metric: str
    classes: tuple[str, ...] = ()
    """In the order of the probabilities: numbers by value, others by name."""
    positive: str | None = None
    bounds: tuple[float, float] | None = None
    clusters: tuple[int, ...] = ()
    labels: str = ""
    """Clustering: the column to compare clusters with; models never see it."""
    series: SeriesUse | None = None
    rows: int = Field(ge=1)
    columns: tuple[ColumnUse, ...] = Field(min_length=1)
    dropped: Mapping[str, str] = {}
    """Why models do not use a column, by name."""
    derived: tuple[Derived, ...] = ()
    format: TableFormat = TableFormat()
    folds: Folds = Folds()
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    shares: Mapping[Track, float] = Field(default_factory=dict)
    ensembling: Ensembling = "best"
    tuning: bool = True
    seconds: float = Field(gt=0)
    """Time for search and final fit."""
    budget: float = Field(default=120.0, gt=0)
    """Time of all rounds together: a choice that follows it is the same in each round."""
    seed: int = 0
    remarks: tuple[str, ...] = ()
    """Remarks on training and evaluation for the coders, in full."""

    @property
    def has_whole_classes(self) -> bool:
        """Whether classes are whole numbers, which the package predicts as integers."""
        spelt = self.target_reading.form == "boolean" and len(self.classes) == 2
        return bool(self.classes) and not spelt and self.threshold is None and all(map(WHOLE.fullmatch, self.classes))

    @property
    def file_columns(self) -> tuple[ColumnUse, ...]:
        """Columns whose values are files."""
        return tuple(one for one in self.columns if one.kind in file_kinds())

    def column(self, name: str) -> ColumnUse:
        """Returns the column with a name, which must exist."""
        return next(one for one in self.columns if one.name == name)


@dataclass(frozen=True, order=True)
class Cost:
    """Estimated cost of a candidate before training."""

    seconds: float  # seconds to train in all folds on one thread, without encoders
    megabytes: float  # size of the fitted model
    milliseconds: float  # milliseconds to predict one row

    def __str__(self) -> str:
        return f"{self.seconds:g} s, {self.megabytes:g} MB, {self.milliseconds:g} ms"


class Trial(Model):
    """A candidate that was tried."""

    candidate: Candidate
    status: Literal["finished", "stopped", "failed"]
    note: str = ""
    score: float | None = None
    """Guides the search, greater is better; not used for the verdict."""
    rounds: tuple[Rounds | None, ...] = ()
    """Steps of early-stopping learners, by fold."""
    missing: tuple[int, ...] = ()
    """Folds that it did not predict in time; its outputs are NaN there."""
    seconds: float
    """Time of its fits and of encoding its features on one worker, even if another candidate encoded them."""
    learning: float = 0.0
    """Expected seconds of its learner in a fit on all rows."""
    encoding: float = 0.0
    """Expected seconds of its encoders in a fit on all rows."""
    loading: float = 0.0
    """Seconds that its encoders take before the first row, such as reading weights."""


class ChosenMember(Model):
    """A candidate in the delivered model."""

    candidate: Candidate
    rounds: int | None = None
    weight: float


class Selection(Model):
    """The model to deliver."""

    metric: str
    score: float
    """Out-of-fold score by the harness; with few rows, each fold is scored by a selection made on the others."""
    apparent_score: float
    """Out-of-fold score on the rows that the selection was made on."""
    members: tuple[ChosenMember, ...]
    ensembling: Ensembling = "best"
    class_weights: tuple[float, ...] | None = None
    best_single: str
    reason: str = ""
    rows: int = 0
    """Training rows that there is time to fit it on; 0 for all."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.candidate.name for one in self.members)

    def in_use(self, blueprint: Blueprint) -> Blueprint:
        """Returns the blueprint without columns of the kinds that every member leaves out."""
        unused = [
            {kind for kind, name in one.encoders.items() if name == LEFT_OUT and not one.features}
            for one in (member.candidate for member in self.members)
        ]
        gone = set[Kind].intersection(*unused)
        return blueprint.model_copy(update={"columns": tuple(one for one in blueprint.columns if one.kind not in gone)})


class OwnCode(Model):
    """Classes with the scikit-learn interface that a language model wrote for this task."""

    path: str
    text: str
    classes: tuple[str, ...]
