"""A task as a person writes it: the fields of `task.yaml`, of the command's flags and of the Python call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from palmette.automl.kinds import Track
from palmette.automl.task_spec.amounts import parse_amount
from palmette.automl.task_spec.limits import COMPARED, comparison_of, parse_constraint
from palmette.automl.task_spec.request import listed
from palmette.automl.task_spec.spec import (
    Clusters,
    FieldSource,
    Forecast,
    LearnerWish,
    Level,
    Origin,
    Preference,
    SplitSpec,
    TaskSpec,
    Threshold,
)
from palmette.automl.task_spec.vocabulary import learner_named, metric_named, nearest_metric
from palmette.documents import Model
from palmette.engine.registry import names
from palmette.errors import did_you_mean

_LEVELS: Mapping[str, Level] = {
    "-": "forbidden", "not:": "forbidden", "first:": "preferred", "baseline:": "baseline", "": "required",
}  # fmt: skip
_OF_FORECAST = frozenset({"horizon", "frequency", "series", "known_ahead", "quantiles"})
_FROM = re.compile(r"(?:(?:19|20)\d\d(?:-\d\d){0,2}|--\d\d|P\d+[DWMY])")


def parse_learner(text: str) -> LearnerWish:
    """A learner with its level.

    >>> parse_learner("-xgboost").level, parse_learner("first:CatBoost").name
    ('forbidden', 'catboost')
    """
    prefix = next(prefix for prefix in _LEVELS if text.strip().casefold().startswith(prefix))
    name = text.strip()[len(prefix) :].strip()
    return LearnerWish(name=learner_named(name) or name.casefold(), level=_LEVELS[prefix], words=text)


def parse_threshold(text: str) -> Threshold:
    """Two classes of a column of numbers, as `price > 5000`.

    Raises:
        ValueError: the text is no comparison.
    """
    found = COMPARED.fullmatch(text)
    amount = parse_amount(found["number"]) if found else None
    sign = comparison_of(found["sign"]) if found else None
    if found is None or amount is None or sign is None or amount.unit:
        raise ValueError(f"{text!r} does not compare a column with a number; write for example 'price>5000'")
    return Threshold(column=found["name"].strip("\"'`"), comparison=sign, value=amount.value, words=text)


def parse_clusters(text: str) -> Clusters:
    """A number of clusters, or a range such as `3-6`.

    Raises:
        ValueError: the text is neither.
    """
    found = re.fullmatch(r"\s*(\d+)\s*(?:(?:-|to)\s*(\d+)\s*)?", text)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 2 <= least <= most:
        raise ValueError(f"{text!r} is no number of clusters; write for example 4 or 3-6")
    return Clusters(count=least) if least == most else Clusters(least=least, most=most)


def parse_split(text: str) -> dict[str, Any]:
    """The fields of a `SplitSpec` that a text gives, parts with commas between them.

    >>> parse_split("time, 30%"), parse_split("from:2024-03"), parse_split("part")
    ({'by': 'time', 'test_share': 0.3}, {'by': 'time', 'test_from': '2024-03'}, {'by': 'column', 'column': 'part'})

    Raises:
        ValueError: a part cannot be read.
    """
    made: dict[str, Any] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        amount = parse_amount(part)
        start = part.removeprefix("from:").strip()
        if part in ("random", "stratified", "group", "time"):
            made["by"] = part
        elif _FROM.fullmatch(start):
            made |= {"by": "time", "test_from": start}
        elif found := re.fullmatch(r"(?:folds?[:=] ?)?(\d+)(?:[ -]folds?)?", part) if "fold" in part else None:
            made["folds"] = int(found[1])
        elif amount is not None:
            share = amount.value / 100 if amount.unit == "percent" else amount.value
            if amount.unit not in ("", "percent") or not 0 <= share < 1:
                raise ValueError(f"{part!r} is no share of the rows; write for example 0.2 or 20%")
            made["test_share"] = share
        else:
            made |= {"by": "column", "column": part.removeprefix("column:").strip()}
    return made


def parse_seconds(value: str | float) -> float:
    """A time of a second or more, e.g. `90`, `120s`, `5min`, `1h` or 90.

    Raises:
        ValueError: the value is no time.
    """
    short = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*m\s*", str(value))  # minutes, which `parse_amount` has no letter for
    amount = parse_amount(f"{short[1]} min" if short else str(value))
    if amount is None or amount.unit not in ("", "seconds") or amount.value < 1:
        raise ValueError(f"{value!r} is no time of a second or more; write for example 90, 120s, 5min or 1h")
    return amount.value


def _checked(parse: Callable[[Any], object]) -> AfterValidator:
    def check(value: Any) -> Any:
        for one in filter(None, value if isinstance(value, tuple) else (value,)):
            parse(one)
        return value

    return AfterValidator(check)


def _in_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, bool | int | float) else value


def _known_problem(value: str) -> str:
    known = names("problem")
    if value and value not in known:
        raise ValueError(f"{value!r} is not supported.{did_you_mean(value, known)} There are {listed(known)}")
    return value


def _known_metric(value: str) -> str:
    if value and not metric_named(value):
        raise ValueError(f"{value!r} is no metric. {nearest_metric(value)}")
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_in_list, json_schema_input_type=str | tuple[str, ...])]
Scalar = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float | bool)]


class TaskFile(Model):
    """A task, as a person writes it. Every field may be left out; what is left out is found or has a default."""

    sentence: str = ""
    """The request in plain words; the fields here win over it."""
    data: Texts = ()
    """Paths of files and folders, or names of sets such as `sklearn:iris`; relative to the task file."""
    table: str = ""
    """Which sheet, table or file of an archive is meant."""
    arrays: Texts = ()
    """Columns of numbers, or of lists, that are files: `image=pixel_*`."""
    target: str = ""
    """The column to predict; of a forecast, several with commas, or `all`."""
    problem: Annotated[str, AfterValidator(_known_problem)] = ""
    """`classification`, `regression`, `clustering` or `forecasting`; follows from the target where it is left out."""
    metric: Annotated[str, AfterValidator(_known_metric)] = ""
    """What candidates are compared by, e.g. `roc_auc` or `macro F1`."""
    positive: Scalar = ""
    """The value of the target that F1, precision and recall are about."""
    threshold: Annotated[str, _checked(parse_threshold)] = ""
    """Two classes of a column of numbers, which is then the target: `price > 5000`."""
    clusters: Annotated[Scalar, _checked(parse_clusters)] = ""
    """How many clusters: `4`, or a range such as `3-6`."""
    labels: str = ""
    """Of a clustering: the column that clusters are compared with."""
    include: Texts = ()
    """The only columns that a model may use."""
    exclude: Texts = ()
    """Columns that no model may use."""
    known_after: Texts = ()
    """Columns that are known only after the outcome; no model uses them."""
    horizon: Scalar = ""
    """Of a forecast: steps, or a time such as `24 hours`."""
    frequency: str = ""
    """Of a forecast: the distance of two rows as a pandas offset, e.g. `h`, `15min`, `MS`."""
    series: str = ""
    """Of a forecast: the column that names the series of each row, where there are several."""
    known_ahead: Texts = ()
    """Of a forecast: columns whose values are known for the rows that are forecast."""
    quantiles: tuple[float, ...] = ()
    """Of a forecast: shares such as 0.1 and 0.9 that its bands stand for."""
    group_by: str = ""
    """A column whose equal values stay on one side of every split, e.g. the customer."""
    time: str = ""
    """The column of times; the hold-out is the latest rows."""
    split: Annotated[Scalar, _checked(parse_split)] = ""
    """`random`, `stratified`, `group`, `time`, a column that names the parts, a share of test rows such as `0.3`, a
    start of the test rows such as `2024-03` or `P3M`, `folds:5`; several with commas, e.g. `time, 30%`."""
    constraints: Annotated[Texts, _checked(parse_constraint)] = ()
    """Limits such as `accuracy>=0.9`, `latency<=20ms`, `batch_time<=2s`, `size<=5MB`, `training_time<=60s`,
    `parameters<=1e6`."""
    learners: Annotated[Texts, _checked(parse_learner)] = ()
    """Learners or families: `lightgbm` requires, `-lightgbm` or `not:lightgbm` forbids, `first:lightgbm` prefers,
    `baseline:linear` compares."""
    prefer: Annotated[tuple[Preference, ...], BeforeValidator(_in_list)] = ()
    """What matters beside the score."""
    tracks: Annotated[tuple[Track, ...], BeforeValidator(_in_list)] = ()
    """Kinds of learners; all that are installed where it is empty."""
    ensemble: bool | None = None
    """Whether several models are wanted together; decided by the score where it is left out."""
    budget: Annotated[float, BeforeValidator(parse_seconds, json_schema_input_type=str | float), Field(gt=0)] = 120.0
    """Time for training and scoring: `90`, `120s`, `5min`, `1h`."""
    plans: int = Field(default=3, ge=1, le=8)
    """Plans that are drafted."""
    seed: int = 0
    """Of everything that is drawn at random."""
    out: str = ""
    """Folder that the package is delivered to."""


FLAGS: Mapping[str, str] = {
    "arrays": "array", "constraints": "constraint", "learners": "learner", "tracks": "track",
}  # fmt: skip
"""Flags that are named otherwise than their field."""


def task_of(file: TaskFile, origin: Origin) -> TaskSpec:
    """The fields that were given, as a partial task with its sources."""
    values: dict[str, Any] = {}
    forecast: dict[str, Any] = {}
    sources: dict[str, FieldSource] = {}
    for field in sorted(file.model_fields_set, key=list(TaskFile.model_fields).index):
        value = getattr(file, field)
        if value in ("", ()) or (field == "ensemble" and value is None):
            continue
        if field in _OF_FORECAST:
            forecast[field] = value
        else:
            values[field] = _typed(field, value)
        words = ", ".join(map(str, value if isinstance(value, tuple) else (value,))).removesuffix(".0")
        if origin == "flag":
            words = f"--{FLAGS.get(field, field).replace('_', '-')} {words}"
        paths = [f"forecast.{field}" if field in _OF_FORECAST else field]
        if field in ("split", "clusters"):
            paths = [f"{field}.{part}" for part in values[field].model_fields_set]
        sources |= {path: FieldSource(origin=origin, words=words) for path in paths if path != "sentence"}
    return TaskSpec(**values, forecast=Forecast(**forecast), sources=sources)


def _typed(field: str, value: Any) -> Any:
    """A value as the task has it."""
    match field:
        case "constraints":
            return tuple(map(parse_constraint, value))
        case "learners":
            return tuple(parse_learner(one) for text in value for one in text.split(",") if one.strip())
        case "metric":
            return metric_named(value)
        case "threshold":
            return parse_threshold(value)
        case "clusters":
            return parse_clusters(value)
        case "split":
            return SplitSpec(**parse_split(value))
        case _:
            return value
