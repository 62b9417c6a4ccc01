"""Candidates and the blueprint: what is trained, on which columns, how it is validated. Plain data, no estimators."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from palmette.automl.kinds import Kind, Track, file_kind
from palmette.automl.samples import ArrayUse, Reading, TableFormat
from palmette.automl.task_spec.spec import Threshold
from palmette.documents import Model

Setting = str | bool | int | float | None
Ensembling = Literal["single", "best", "mean", "weighted", "stacking", "voting"]
"""single: one model, whatever an ensemble would score; best: as `weighted`, but one model unless the ensemble is better
by more than noise; mean: equal weights of the best few; weighted: greedy selection; stacking: a linear model of their
outputs; voting: a majority of their labels."""
Operation = Literal[
    "sum", "difference", "product", "ratio", "mean", "least", "greatest", "square", "log", "elapsed", "missing",
    "hour", "weekday", "day", "month",
]  # fmt: skip


class Strategy(Model):
    """What is done around a learner, whatever it is."""

    target_transform: Literal["none", "log", "log1p"] = "none"
    """Regression: the scale on which the target is learnt."""
    class_weights: Literal["none", "balanced"] = "none"
    resampling: Literal["none", "oversample", "undersample"] = "none"
    """Classification: of the training rows of a fold."""


class Candidate(Model):
    """One model to train: encoders, a learner, its settings, and the strategy around it."""

    name: str = Field(pattern=r"^[a-z0-9_]+(-[a-z0-9_]+)*$")
    """Unique in a plan; begins with the learner's name."""
    learner: str
    """A registered learner, or the class of one that a model has written."""
    encoders: Mapping[Kind, str] = Field(default_factory=dict)
    """By kind of column: a registered encoder, where it is not the usual one for the learner's layout."""
    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """Parameters of the learner that differ from its defaults."""
    strategy: Strategy = Strategy()
    features: str = ""
    """The class of an own encoder (written by a model) that adds features; empty for none."""
    derived: bool = True
    """Whether it is given the derived features of the blueprint."""
    tuned: bool = False
    """Whether its settings are searched once all candidates are trained."""
    reason: str = ""


def substance(candidate: Candidate) -> str:
    """What makes two candidates the same model, whatever their names."""
    return json.dumps(candidate.model_dump(mode="json", exclude={"name", "reason", "tuned"}), sort_keys=True)


def first_of_each(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first candidate of each learner, in their order."""
    found: dict[str, Candidate] = {}
    for one in candidates:
        found.setdefault(one.learner, one)
    return list(found.values())


class Derived(Model):
    """A feature computed from other columns of the same row; missing where one of them is."""

    name: str
    """Letters, digits and single underscores."""
    operation: Operation
    """difference: the first less the second; ratio: the first by the second; log: of 1 + x, with the sign of x;
    elapsed: days from the first timestamp to the second; missing: how many of them are; hour (with minutes as a
    fraction), weekday (Monday is 0), day (of the month) and month: of a timestamp."""
    columns: tuple[str, ...]
    """Numeric or boolean columns, or features derived before it; timestamps for elapsed and parts of the calendar."""
    reason: str
    """Why a model could not find it easily by itself; one sentence."""


class ColumnUse(Model):
    """A column that models are given."""

    name: str
    """As people and requests write it."""
    source: str = ""
    """Its name in the user's file, where that is another."""
    kind: Kind
    reading: Reading = Reading(form="native")
    """How its values are written in the file."""
    note: str = ""
    """What was found and why it is used so: a comment in the delivered features.py."""
    categories: tuple[str, ...] = ()
    """The values seen, of a category with few."""
    parts: tuple[str, ...] = ()
    """Of a datetime: what is made of it, e.g. month, weekday, hour, days."""
    words: float = 0.0
    """Of a text: their mean number."""
    array: ArrayUse | None = None
    """Columns of the file whose numbers may stand for it."""
    examples: tuple[str | bool | float | None, ...] = ()
    """A few values for documentation and tests."""

    @property
    def in_file(self) -> str:
        """Its name in the frame that `pd.read_csv` makes of the user's file."""
        return self.source or self.name


class Dropped(Model):
    """A column that no model is given."""

    name: str
    reason: str


class Folds(Model):
    """How training rows are divided for out-of-fold predictions."""

    count: int = Field(default=5, ge=2)
    kind: Literal["stratified", "random", "grouped", "time"] = "random"
    by: str = ""
    """The column of the groups, or of the time."""


class SeriesUse(Model):
    """What is forecast of which columns, decided by request and data."""

    targets: tuple[str, ...]
    time: str = ""
    """The column of time stamps; empty where each row is a step."""
    frequency: str = "1"
    """A pandas offset, or the distance of numbered steps."""
    series: str = ""
    """The column that names the series; empty for one series."""
    known: tuple[str, ...] = ()
    """Covariates whose values are known ahead."""
    past: tuple[str, ...] = ()
    """Covariates whose values are known up to the origin of a forecast."""
    horizon: int = Field(ge=1)
    """Steps that are forecast."""
    seasons: tuple[int, ...] = ()
    """Steps of the seasons that show in the data, the strongest first."""
    quantiles: tuple[float, ...] = ()
    shortest: int = 0
    """Steps of the shortest series in training."""
    longest: int = 0
    count: int = 1
    """Series, each with all targets."""
    context: int = 0
    """Rows of each series that a forecast is asked with."""
    is_positive: bool = False

    @property
    def season(self) -> int:
        return self.seasons[0] if self.seasons else 1


class Blueprint(Model):
    """What is built: the contract between the coders, the search and the delivered package."""

    package: str
    """Name of the delivered package: a Python identifier made of target or data."""
    title: str
    problem: str
    """A registered problem."""
    target: str = ""
    """Empty where there is none."""
    target_in_file: str = ""
    target_reading: Reading = Reading(form="native")
    threshold: Threshold | None = None
    """Makes the classes of the target's numbers."""
    metric: str
    classes: tuple[str, ...] = ()
    """In the order of the probabilities: numbers by size, others by name."""
    positive: str | None = None
    bounds: tuple[float, float] | None = None
    """Predicted numbers are kept within."""
    clusters: tuple[int, ...] = ()
    """Numbers of clusters that are tried."""
    labels: str = ""
    """Of a clustering: the column that clusters are compared with; never given to a model."""
    series: SeriesUse | None = None
    """Of a forecast."""
    rows: int = Field(ge=1)
    """Training rows."""
    columns: tuple[ColumnUse, ...] = Field(min_length=1)
    dropped: tuple[Dropped, ...] = ()
    derived: tuple[Derived, ...] = ()
    format: TableFormat = TableFormat()
    """How files like the user's are read."""
    folds: Folds = Folds()
    candidates: tuple[Candidate, ...] = Field(min_length=1)
    """What is trained, in this order; the chosen plan's."""
    shares: Mapping[Track, float] = Field(default_factory=dict)
    """Of the training time, by track; equal where it is empty."""
    ensembling: Ensembling = "best"
    tuning: bool = True
    """Whether time that is left is spent on the settings of `tuned` candidates."""
    seconds: float = Field(gt=0)
    """For search and final fit."""
    seed: int = 0
    remarks: tuple[str, ...] = ()
    """What matters for training and evaluation, in words, uncut: the coders read it."""

    @property
    def file_columns(self) -> tuple[ColumnUse, ...]:
        """Columns whose values are files."""
        return tuple(one for one in self.columns if file_kind(one.kind))

    def column(self, name: str) -> ColumnUse:
        """The column of this name; it exists."""
        return next(one for one in self.columns if one.name == name)


class OwnCode(Model):
    """Classes with the scikit-learn interface that a model has written for this task."""

    path: str
    """The module in the package, e.g. `own_features.py`."""
    text: str
    classes: tuple[str, ...]
    """Encoders or learners in it."""
