"""`TaskSpec`, the typed request: what to learn from which data, how to judge it, and the limits of the model.

Flags, a `task.yaml` and a sentence each set some fields; `merged` combines them into one `TaskSpec`. Every field
affects the run or the verdict. `sources` records the origin of each value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import reduce
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from palmette.automl.kinds import Track
from palmette.automl.task_spec.amounts import parse_amount
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

    def overrides(self, weak: Constraint) -> bool:
        """Returns whether both limits bound the same quantity from the same side."""
        return (self.quantity, self.metric, self.comparison[0]) == (weak.quantity, weak.metric, weak.comparison[0])


class LearnerWish(Model):
    """A learner or family of learners that the request names."""

    name: str
    """A registered learner or family, e.g. `lightgbm`, `linear`, `gradient_boosting`."""
    level: Level = "required"
    words: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.level})"

    def overrides(self, weak: LearnerWish) -> bool:
        """Returns whether both name the same learner, or both require learners."""
        return self.name == weak.name or self.level == weak.level == "required"


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
    """Start of the hold-out: `2024`, `2024-03`, `2024-03-15`, or `P3M` for three months before the end."""
    folds: int | None = Field(default=None, ge=2, le=20)


class Clusters(Model):
    """The number of clusters; None where it is to be determined."""

    count: int | None = Field(default=None, ge=2)
    least: int | None = Field(default=None, ge=2)
    most: int | None = Field(default=None, ge=2)


class Forecast(Model):
    """Horizon and columns of a forecast."""

    horizon: str = ""
    """Steps, or a time such as `24 hours`; several with commas must agree; empty to determine it from the data."""
    frequency: str = ""
    """Interval between rows as a pandas offset, e.g. `h`, `15min` or `MS`; empty to determine it from the data."""
    series: str = ""
    """The column that names the series of each row; empty for a single series."""
    targets: tuple[str, ...] = ()
    """All columns to forecast, including the target."""
    known_ahead: tuple[str, ...] = ()
    """Columns whose future values are known, e.g. holidays or prices."""
    holidays: str = ""
    """ISO code of the country, or of its part, whose public holidays are covariates: `DE`, `DE-BY`."""
    quantiles: tuple[float, ...] = (0.1, 0.9)
    """Forecast in addition to the value."""


class FieldSource(Model):
    """The origin of a value."""

    origin: Origin
    words: str = ""
    """Words of the sentence, the flag, or the reason for a default."""


def parse_seconds(value: str | float) -> float:
    """Parses a time of at least one second, e.g. `90`, `120s`, `5min`, `1h` or 90; raises ValueError where the value is
    no time."""
    short = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*m\s*", str(value))  # `m` is not a unit of `parse_amount`
    amount = parse_amount(f"{short[1]} min" if short else str(value))
    if amount is None or amount.unit not in ("", "seconds") or amount.value < 1:
        raise ValueError(f"{value!r} is not a duration of a second or more; write for example 90, 120s, 5min or 1h")
    return amount.value


def _in_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, bool | int | float) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_in_list, json_schema_input_type=str | tuple[str, ...])]
Scalar = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float | bool)]
Seconds = Annotated[float, BeforeValidator(parse_seconds, json_schema_input_type=str | float), Field(gt=0)]


class StatedFields(Model):
    """The fields that a sentence can state, and that are used as they are written."""

    target: str = ""
    """The column to predict, none for clustering; a forecast may have several, separated by commas, or `all`."""
    problem: str = ""
    """`classification`, `regression`, `clustering`, `forecasting`, `node_classification` or `node_clustering`; follows
    from the target."""
    metric: str = ""
    """Compares candidates, e.g. `roc_auc` or `macro F1`; by default that of problem and target."""
    positive: Scalar = ""
    """The positive class for F1, precision and recall."""
    labels: str = ""
    """Clustering: a column to compare clusters with; no model sees it."""
    include: Texts = ()
    """The only columns that a model may use; all by default."""
    exclude: Texts = ()
    """Columns that no model may use."""
    known_after: Texts = ()
    """Columns known only after the outcome; excluded and reported as avoided leaks."""
    group_by: str = ""
    """A column, e.g. the customer; rows with equal values stay on one side of every split."""
    time: str = ""
    """The time column; the hold-out and each validation fold are later than the rows trained on."""
    prefer: Annotated[tuple[Preference, ...], BeforeValidator(_in_list)] = ()
    """What matters besides the score."""
    ensemble: bool | None = None
    """Whether to deliver several models together; by default if they are better by more than noise."""
    budget: Seconds = 120.0
    """Time for training and scoring: `90`, `120s`, `5min`, `1h`."""


class TaskFields(StatedFields):
    """The fields that a user writes as they are used."""

    sentence: str = ""
    """The request in plain words; explicit fields take precedence over it."""
    data: Texts = ()
    """Paths of files and folders, relative to the task file, or names of data sets such as `sklearn:iris`."""
    table: str = ""
    """The sheet, table or file of an archive to read."""
    arrays: Texts = ()
    """Columns of numbers or lists that form files: `image=pixel_*`."""
    tracks: Annotated[tuple[Track, ...], BeforeValidator(_in_list)] = ()
    """Groups of learners; all installed ones by default."""
    plans: int = Field(default=3, ge=1, le=8)
    """Number of drafted plans."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    """The random seed."""
    out: str = ""
    """Folder for the package; by default in the run's folder."""


class TaskSpec(TaskFields):
    """The interpreted request."""

    threshold: Threshold | None = None
    """Makes two classes of a numeric target."""
    clusters: Clusters = Clusters()
    forecast: Forecast = Forecast()
    """Horizon and columns of a forecast."""
    split: SplitSpec = SplitSpec()
    constraints: tuple[Constraint, ...] = ()
    learners: tuple[LearnerWish, ...] = ()
    sources: Mapping[str, FieldSource] = Field(default_factory=dict)
    """Origins of values by field; nested fields as `split.by`."""
    unread: tuple[str, ...] = ()
    """Parts of the sentence that were not understood and are not followed."""
    unmet: tuple[str, ...] = ()
    """Wishes that were understood but cannot be met, with reasons; the run reports them as failed."""


def merged(*tasks: TaskSpec) -> TaskSpec:
    """Merges partial tasks, given with the strongest first: its fields win, and lists of wishes are combined.

    A task sets the fields listed in its `sources`; nested fields are merged part by part.
    """
    return reduce(_over, tasks)


def _over(strong: TaskSpec, weak: TaskSpec) -> TaskSpec:
    values, sources = dict[str, Any](), dict(strong.sources)
    for path, source in weak.sources.items():
        value, sources[path] = attrgetter(path)(weak), source
        if path in strong.sources:
            value, sources[path] = _both(path, attrgetter(path)(strong), value, strong.sources[path], source)
        field, _, part = path.partition(".")
        values[field] = values.get(field, getattr(strong, field)).model_copy(update={part: value}) if part else value
    for field in ("unread", "unmet"):
        values[field] = tuple(dict.fromkeys((*getattr(strong, field), *getattr(weak, field))))
    values |= {"sources": sources, "sentence": strong.sentence or weak.sentence}
    return strong.model_copy(update=values)


def _both(path: str, ours: Any, theirs: Any, strong: FieldSource, weak: FieldSource) -> tuple[Any, FieldSource]:
    """Merges a field that both tasks set; its source mentions what is added and what is replaced."""
    value, lost, words = ours, [theirs] if theirs != ours else [], strong.words
    if path in ("exclude", "known_after"):
        value, lost = tuple(dict.fromkeys((*ours, *theirs))), []
    elif path in ("constraints", "learners"):
        lost = [one for one in theirs if any(other.overrides(one) for other in ours)]
        value = (*ours, *(one for one in theirs if one not in lost))
    if path in ("exclude", "known_after", "constraints", "learners"):
        words += f"; {weak.origin}: {weak.words}"
    if lost:
        words += f" (instead of {', '.join(map(str, lost))}, {weak.origin})"
    return value, strong.model_copy(update={"words": words})
