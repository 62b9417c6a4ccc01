"""`TaskSpec`, the typed request: what to learn from which data, how it is judged, and which limits the model keeps.

Flags, a `task.yaml` and a sentence each give some fields; `merging` makes one `TaskSpec` of them. Every field changes
the run or judges its result. `sources` records where each value comes from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from palmette.automl.kinds import Track
from palmette.documents import Model

Quantity = Literal["score", "latency", "batch_time", "size", "parameters", "training_time"]
"""latency: seconds to answer a request for one row; batch_time: seconds to predict all hold-out rows; size: bytes."""
Comparison = Literal[">=", ">", "<=", "<"]
Level = Literal["required", "preferred", "forbidden", "baseline"]
"""required: the delivered model consists of these only; preferred: tried first; baseline: compared with."""
Preference = Literal["speed", "small", "explainable", "simple"]
Origin = Literal["flag", "file", "sentence", "model", "answer", "data", "default"]


class Constraint(Model):
    """A measured number that the delivered model must keep to."""

    quantity: Quantity
    metric: str = ""
    """Metric of a score; empty for the metric of the run."""
    comparison: Comparison
    value: float
    """A score as the metric gives it, seconds, bytes, or a count."""
    words: str = ""
    """As it was written."""

    def __str__(self) -> str:
        return f"{self.metric or self.quantity} {self.comparison} {self.value:g}"


class LearnerWish(Model):
    """A learner, or a family of learners, that the request names."""

    name: str
    """A registered learner or family, e.g. `lightgbm`, `linear`, `gradient_boosting`."""
    level: Level = "required"
    words: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.level})"


class Threshold(Model):
    """Two classes of a column of numbers, by what it is compared with."""

    column: str
    comparison: Comparison
    """The side that is asked about."""
    value: float
    """In the unit of the column."""
    words: str = ""

    @property
    def classes(self) -> tuple[str, str]:
        """The class that is asked about, and the other one.

        >>> Threshold(column="price", comparison=">", value=5000).classes
        ('above 5000', 'at most 5000')
        """
        least, above, most, below = (f"{word} {self.value:.12g}" for word in ("at least", "above", "at most", "below"))
        return {">=": (least, below), ">": (above, most), "<=": (most, above), "<": (below, least)}[self.comparison]

    @property
    def stand_ins(self) -> tuple[float, float]:
        """A number of each class, in the order of `classes`."""
        beside = math.nextafter(self.value, math.inf if self.comparison in (">", "<=") else -math.inf)
        return (self.value, beside) if "=" in self.comparison else (beside, self.value)

    def __str__(self) -> str:
        return f"{self.column} {self.comparison} {self.value:.12g}"


class SplitSpec(Model):
    """How the hold-out is cut, and how candidates are validated."""

    by: Literal["", "random", "stratified", "group", "time", "column"] = ""
    """Empty: the data decide. `column`: an existing column names the part of each row."""
    column: str = ""
    """That names the part of each row."""
    test_share: float = Field(default=0.2, ge=0, lt=1)
    """Share of the rows that no training sees; 0: none, and scores are out of fold."""
    test_from: str = ""
    """Where the hold-out begins in time: `2024`, `2024-03`, `2024-03-15`, `--03` for the last March, `P3M` for three
    months before the end."""
    folds: int | None = Field(default=None, ge=2, le=20)


class Clusters(Model):
    """How many clusters are wanted; the fields that are None are found."""

    count: int | None = Field(default=None, ge=2)
    least: int | None = Field(default=None, ge=2)
    most: int | None = Field(default=None, ge=2)


class Forecast(Model):
    """What is forecast beside the target."""

    horizon: str = ""
    """Steps, or a time such as `24 hours` or `2 weeks`; found where it is empty."""
    frequency: str = ""
    """Distance of two rows as a pandas offset, e.g. `h`, `15min` or `MS`; found where it is empty."""
    series: str = ""
    """The column that names the series of each row, where there are several."""
    targets: tuple[str, ...] = ()
    """Columns that are forecast together with the target."""
    known_ahead: tuple[str, ...] = ()
    """Columns whose values are known for the rows that are forecast, e.g. holidays or prices."""
    quantiles: tuple[float, ...] = (0.1, 0.9)
    """That are forecast beside the value."""


class FieldSource(Model):
    """Where a value of the task comes from."""

    origin: Origin
    words: str = ""
    """The words of the sentence, the flag, or the reason of a default."""


class TaskSpec(Model):
    """One request."""

    sentence: str = ""
    """The request in words, as written."""
    data: tuple[str, ...] = ()
    """Paths of files and folders, or names of sets such as `sklearn:iris`."""
    table: str = ""
    """Which sheet, table or file of an archive is meant."""
    arrays: tuple[str, ...] = ()
    """Columns of numbers that are files: `image=pixel_*`."""
    target: str = ""
    """The column to predict; empty for clustering."""
    problem: str = ""
    """A registered problem, e.g. `classification`; empty until the target decides it."""
    metric: str = ""
    """What candidates are compared by; empty for the usual one of the problem and target."""
    positive: str = ""
    """The value of the target that F1, precision or recall are about."""
    threshold: Threshold | None = None
    """Makes two classes of a numeric target."""
    clusters: Clusters = Clusters()
    labels: str = ""
    """Of a clustering: the column that the clusters are compared with. No model sees it."""
    forecast: Forecast = Forecast()
    """Horizon and columns of a forecast."""
    include: tuple[str, ...] = ()
    """The only columns that a model may use; empty for all."""
    exclude: tuple[str, ...] = ()
    """Columns that no model may use."""
    known_after: tuple[str, ...] = ()
    """Columns that are known only after the outcome: no model uses them, and they are reported as leaks avoided."""
    group_by: str = ""
    """The column of an entity whose rows stay on one side of every split."""
    time: str = ""
    """The column of times: the hold-out and the folds are later than what is learnt from."""
    split: SplitSpec = SplitSpec()
    constraints: tuple[Constraint, ...] = ()
    learners: tuple[LearnerWish, ...] = ()
    prefer: tuple[Preference, ...] = ()
    """What matters beside the score, without a number."""
    tracks: tuple[Track, ...] = ()
    """Empty for all that are installed."""
    ensemble: bool | None = None
    """Whether several models are wanted together; None: where that is better by more than noise."""
    budget: float = Field(default=120.0, gt=0)
    """Seconds for training and scoring, all tracks together."""
    plans: int = Field(default=3, ge=1, le=8)
    """Plans that are drafted."""
    seed: int = 0
    out: str = ""
    """Folder that the package is delivered to; the run's folder where it is empty."""
    sources: Mapping[str, FieldSource] = Field(default_factory=dict)
    """By field, where its value comes from; fields of `split`, `clusters` and `forecast` as `split.by`."""
    unread: tuple[str, ...] = ()
    """Parts of the sentence that were not understood; nothing keeps to them."""
    unmet: tuple[str, ...] = ()
    """Wishes that were understood and cannot be met, each with the reason; the run reports them as failed."""
