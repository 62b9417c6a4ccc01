"""`TaskSpec`, the typed request: what to learn from which data, how to judge it, and the limits of the model.

Flags, a `task.yaml` and a sentence each set some fields; `merging` combines them into one `TaskSpec`. Every field
affects the run or the verdict. `sources` records the origin of each value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from palmette.automl.kinds import Track
from palmette.documents import Model

Quantity = Literal["score", "latency", "batch_time", "size", "parameters", "training_time"]
"""latency: seconds to answer a one-row request; batch_time: seconds to predict all hold-out rows; size: bytes."""
Comparison = Literal[">=", ">", "<=", "<"]
Level = Literal["required", "preferred", "forbidden", "baseline"]
"""required: the delivered model uses only these; preferred: tried first; baseline: compared with."""
Preference = Literal["speed", "small", "explainable", "simple"]
Origin = Literal["flag", "file", "sentence", "model", "answer", "data", "default"]


class Constraint(Model):
    """A limit on a measured quantity of the delivered model."""

    quantity: Quantity
    metric: str = ""
    """Metric of a score; empty for the run's metric."""
    comparison: Comparison
    value: float
    """A score in the metric's unit, seconds, bytes, or a count."""
    words: str = ""
    """The original words."""

    def __str__(self) -> str:
        return f"{self.metric or self.quantity} {self.comparison} {self.value:g}"


class LearnerWish(Model):
    """A learner or family of learners that the request names."""

    name: str
    """A registered learner or family, e.g. `lightgbm`, `linear`, `gradient_boosting`."""
    level: Level = "required"
    words: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.level})"


class Threshold(Model):
    """Two classes of a numeric column, on either side of a value."""

    column: str
    comparison: Comparison
    """The side of the positive class."""
    value: float
    """In the column's unit."""
    words: str = ""

    @property
    def classes(self) -> tuple[str, str]:
        """The positive class and the other one.

        >>> Threshold(column="price", comparison=">", value=5000).classes
        ('above 5000', 'at most 5000')
        """
        least, above, most, below = (f"{word} {self.value:.12g}" for word in ("at least", "above", "at most", "below"))
        return {">=": (least, below), ">": (above, most), "<=": (most, above), "<": (below, least)}[self.comparison]

    @property
    def stand_ins(self) -> tuple[float, float]:
        """A number in each class, in the order of `classes`."""
        beside = math.nextafter(self.value, math.inf if self.comparison in (">", "<=") else -math.inf)
        return (self.value, beside) if "=" in self.comparison else (beside, self.value)

    def __str__(self) -> str:
        return f"{self.column} {self.comparison} {self.value:.12g}"


class SplitSpec(Model):
    """How the hold-out is selected and candidates are validated."""

    by: Literal["", "random", "stratified", "group", "time", "column"] = ""
    """Empty: determined by the data. `column`: a column names the part of each row."""
    column: str = ""
    """The column that names the part of each row."""
    test_share: float = Field(default=0.2, ge=0, lt=1)
    """Share of the rows held out from training; 0 for none, which makes all scores out of fold."""
    test_from: str = ""
    """Start of the hold-out: `2024`, `2024-03`, `2024-03-15`, `--03` for the last March, or `P3M` for three months
    before the end.
    """
    folds: int | None = Field(default=None, ge=2, le=20)


class Clusters(Model):
    """The number of clusters; None where it is to be determined."""

    count: int | None = Field(default=None, ge=2)
    least: int | None = Field(default=None, ge=2)
    most: int | None = Field(default=None, ge=2)


class Forecast(Model):
    """Horizon and columns of a forecast."""

    horizon: str = ""
    """Steps, or a time such as `24 hours` or `2 weeks`; empty to determine it from the data."""
    frequency: str = ""
    """Interval between rows as a pandas offset, e.g. `h`, `15min` or `MS`; empty to determine it from the data."""
    series: str = ""
    """The column that names the series of each row; empty for a single series."""
    targets: tuple[str, ...] = ()
    """All columns to forecast, including the target."""
    known_ahead: tuple[str, ...] = ()
    """Columns whose future values are known, e.g. holidays or prices."""
    quantiles: tuple[float, ...] = (0.1, 0.9)
    """Forecast in addition to the value."""


class FieldSource(Model):
    """The origin of a value."""

    origin: Origin
    words: str = ""
    """Words of the sentence, the flag, or the reason for a default."""


class TaskSpec(Model):
    """The interpreted request."""

    sentence: str = ""
    """The request as written."""
    data: tuple[str, ...] = ()
    """Paths of files and folders, or names of data sets such as `sklearn:iris`."""
    table: str = ""
    """The sheet, table or file of an archive to read."""
    arrays: tuple[str, ...] = ()
    """Numeric columns that form files: `image=pixel_*`."""
    target: str = ""
    """The column to predict; empty for clustering."""
    problem: str = ""
    """A registered problem, e.g. `classification`; empty until the target determines it."""
    metric: str = ""
    """Compares candidates; empty for the default of the problem and target."""
    positive: str = ""
    """The positive class for F1, precision and recall."""
    threshold: Threshold | None = None
    """Makes two classes of a numeric target."""
    clusters: Clusters = Clusters()
    labels: str = ""
    """Clustering: the column to compare clusters with; no model sees it."""
    forecast: Forecast = Forecast()
    """Horizon and columns of a forecast."""
    include: tuple[str, ...] = ()
    """The only columns that a model may use; empty for all."""
    exclude: tuple[str, ...] = ()
    """Columns that no model may use."""
    known_after: tuple[str, ...] = ()
    """Columns known only after the outcome; excluded and reported as avoided leaks."""
    group_by: str = ""
    """Column of an entity; rows with equal values stay on one side of every split."""
    time: str = ""
    """Time column; the hold-out and each validation fold are later than the rows trained on."""
    split: SplitSpec = SplitSpec()
    constraints: tuple[Constraint, ...] = ()
    learners: tuple[LearnerWish, ...] = ()
    prefer: tuple[Preference, ...] = ()
    """What matters besides the score."""
    tracks: tuple[Track, ...] = ()
    """Groups of learners; empty for all installed ones."""
    ensemble: bool | None = None
    """Whether to deliver several models together; None to do so if they are better by more than noise."""
    budget: float = Field(default=120.0, gt=0)
    """Seconds for training and scoring, all tracks together."""
    plans: int = Field(default=3, ge=1, le=8)
    """Number of drafted plans."""
    seed: int = 0
    out: str = ""
    """Folder for the package; empty for the run's folder."""
    sources: Mapping[str, FieldSource] = Field(default_factory=dict)
    """Origins of values by field; nested fields as `split.by`."""
    unread: tuple[str, ...] = ()
    """Parts of the sentence that were not understood and are not followed."""
    unmet: tuple[str, ...] = ()
    """Wishes that were understood but cannot be met, with reasons; the run reports them as failed."""
