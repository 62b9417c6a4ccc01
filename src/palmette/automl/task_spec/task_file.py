"""The user's form of a task: the fields of `task.yaml`, the command's flags and the Python call, and limits."""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import ValidationInfo, field_validator

from palmette.automl.task_spec import spec
from palmette.automl.task_spec.amounts import parse_amount
from palmette.automl.task_spec.request import listed
from palmette.automl.task_spec.vocabulary import learner_named, metric_named, vocabulary
from palmette.engine.registry import names
from palmette.errors import UserError, did_you_mean, nearest
from palmette.problems import error_of

_LIMITS: Mapping[str, tuple[str, str]] = {
    "latency": ("seconds", "20ms"), "batch_time": ("seconds", "2s"), "training_time": ("seconds", "60s"),
    "size": ("bytes", "5MB"), "parameters": ("", "1e6"),
}  # fmt: skip
"""Unit and example of each limit."""
_MEANS = {"f1": "f1_macro", "recall": "balanced_accuracy"}
"""Metrics of one class, and what their mean over all classes is called."""
COMPARED = re.compile(r"\s*(?P<name>.+?)\s*(?P<sign>[<>]=?|≤|≥)\s*(?P<number>[^<>=≤≥]+?)\s*")
_UPPER, _LOWER = ("<=", "<"), (">=", ">")
_LEVELS: Mapping[str, spec.Level] = {
    "-": "forbidden", "not:": "forbidden", "first:": "preferred", "baseline:": "baseline", "": "required",
}  # fmt: skip
_OF_FORECAST = frozenset({"horizon", "frequency", "series", "known_ahead", "holidays", "quantiles"})
_FROM = re.compile(r"(?:(?:19|20)\d\d(?:-\d\d){0,2}|P\d+[DWMY])")


def comparison_of(words: str, better: str = "") -> spec.Comparison | None:
    """Returns the comparison expressed by words; `better` is the better direction of a metric."""
    for sign, patterns in vocabulary().comparisons.items():
        if re.fullmatch("|".join(patterns), " ".join(words.split()), re.I):
            own = {"better": (">=", "<="), "beyond": (">", "<")}.get(sign, (sign, sign))
            return cast("spec.Comparison", own[better == "lower"])
    return None


def score_limit(metric: str, comparison: spec.Comparison | None, number: str, words: str) -> spec.Constraint | None:
    """Returns a limit on a score, or None if unit or direction do not fit the metric."""
    known, amount = vocabulary().metrics[metric], parse_amount(number)
    direction = _LOWER if known.better == "higher" else _UPPER
    comparison = comparison or cast("spec.Comparison", direction[0])
    if amount is None or comparison not in direction:
        return None
    in_percent = amount.unit == "percent" or (known.share and 10 <= amount.value <= 100)
    if in_percent and known.better == "lower" and not known.ratio:
        return None
    value = float(f"{amount.value / 100:.12g}") if in_percent else amount.value
    if value > 1 and (known.ratio or (known.better == "higher" and metric != "calinski_harabasz")):
        return None
    return spec.Constraint(quantity="score", metric=metric, comparison=comparison, value=value, words=words)


def nearest_metric(name: str, problem: str = "") -> str:
    """Returns the remedy for an unknown metric: the nearest name and the available ones."""
    known = [one for one, words in vocabulary().metrics.items() if problem in ("", words.problem, *words.also)]
    hint = nearest(name, known)
    return (f"Did you mean {hint!r}? " if hint else "") + f"There are {', '.join(known)}."


def over_classes(task: spec.TaskSpec, classes: int) -> spec.TaskSpec:
    """Replaces metrics of one class by their mean over several classes, where the request names none of these.

    Raises:
        UserError: the metric has no such mean.
    """
    if classes <= 2 or task.positive or task.threshold is not None:
        return task
    if "precision" in (task.metric, *(one.metric for one in task.constraints)):
        raise error_of(UserError, "no-positive", task=task, classes=classes)
    limits = [one.model_copy(update={"metric": _MEANS.get(one.metric, one.metric)}) for one in task.constraints]
    return task.model_copy(update={"metric": _MEANS.get(task.metric, task.metric), "constraints": tuple(limits)})


def parse_constraint(text: str) -> spec.Constraint:
    """Parses a limit such as `latency<=20ms` or `accuracy >= 0.9`.

    >>> str(parse_constraint("size <= 5MB")), str(parse_constraint("ROC AUC > 80 %"))
    ('size <= 5e+06', 'roc_auc > 0.8')

    Raises:
        ValueError: the text is not a limit.
    """
    found = COMPARED.fullmatch(text)
    examples = ", ".join(f"{name}<={example}" for name, (_, example) in _LIMITS.items())
    if found is None:
        raise ValueError(f"{text!r} is not a limit; write for example accuracy>=0.9, {examples}")
    name = found["name"].casefold().replace(" ", "_").replace("-", "_")
    sign: spec.Comparison | None = comparison_of(found["sign"])
    if name in _LIMITS:
        (unit, example), quantity = _LIMITS[name], cast("spec.Quantity", name)
        amount = parse_amount(found["number"])
        if amount is None or amount.unit != unit or sign not in ("<", "<=") or amount.value <= 0:
            raise ValueError(f"{text!r} is not a limit on {quantity}; write for example {name}<={example}")
        return spec.Constraint(quantity=quantity, comparison=sign, value=amount.value, words=text)
    metric = metric_named(found["name"])
    if not metric:
        raise ValueError(f"{found['name']!r} in {text!r} is not a metric. {nearest_metric(name)} Limits: {examples}")
    made = score_limit(metric, sign, found["number"], text)
    if made is None:
        better = vocabulary().metrics[metric].better
        raise ValueError(f"{text!r} is not a limit on {metric}, which is better when {better}")
    return made


def parse_learner(text: str) -> spec.LearnerWish:
    """Parses a learner with its level.

    >>> parse_learner("-xgboost").level, parse_learner("first:CatBoost").name
    ('forbidden', 'catboost')
    """
    prefix = next(prefix for prefix in _LEVELS if text.strip().casefold().startswith(prefix))
    name = text.strip()[len(prefix) :].strip()
    return spec.LearnerWish(name=learner_named(name) or name.casefold(), level=_LEVELS[prefix], words=text)


def parse_threshold(text: str) -> spec.Threshold:
    """Parses two classes of a numeric column, such as `price > 5000`; raises ValueError where the text is no
    comparison."""
    found = COMPARED.fullmatch(text)
    amount = parse_amount(found["number"]) if found else None
    sign = comparison_of(found["sign"]) if found else None
    if found is None or amount is None or sign is None or amount.unit:
        raise ValueError(f"{text!r} does not compare a column with a number; write for example 'price>5000'")
    return spec.Threshold(column=found["name"].strip("\"'`"), comparison=sign, value=amount.value, words=text)


def parse_clusters(text: str) -> spec.Clusters:
    """Parses a number of clusters, or a range such as `3-6`; raises ValueError where the text is neither."""
    found = re.fullmatch(r"\s*(\d+)\s*(?:(?:-|to)\s*(\d+)\s*)?", text)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 2 <= least <= most:
        raise ValueError(f"{text!r} is not a number of clusters; write for example 4 or 3-6")
    return spec.Clusters(count=least) if least == most else spec.Clusters(least=least, most=most)


def parse_split(text: str) -> dict[str, Any]:
    """Parses the fields of a `SplitSpec`, separated by commas.

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
            if not 2 <= int(found[1]) <= 20:
                raise ValueError(f"{part!r} is not a number of folds from 2 to 20; write for example folds:5")
            made["folds"] = int(found[1])
        elif amount is not None:
            share = amount.value / 100 if amount.unit == "percent" else amount.value
            if amount.unit not in ("", "percent") or not 0 <= share < 1:
                raise ValueError(f"{part!r} is not a share of the rows; write for example 0.2 or 20%")
            made["test_share"] = share
        else:
            made |= {"by": "column", "column": part.removeprefix("column:").strip()}
    return made


def parse_metric(text: str) -> str:
    """Returns the metric that a text names; raises ValueError where it names none."""
    if not (name := metric_named(text)):
        raise ValueError(f"{text!r} is not a metric. {nearest_metric(text)}")
    return name


_TYPED: Mapping[str, Callable[[Any], object]] = {
    "constraints": lambda texts: tuple(map(parse_constraint, texts)),
    "learners": lambda texts: tuple(parse_learner(one) for text in texts for one in text.split(",") if one.strip()),
    "metric": parse_metric,
    "threshold": parse_threshold,
    "clusters": parse_clusters,
    "split": lambda text: spec.SplitSpec(**parse_split(text)),
}
"""Converts the text of a field to the type that the task has, or raises ValueError."""


def _require_convertible(value: Any, info: ValidationInfo) -> Any:
    if value and info.field_name:
        _TYPED[info.field_name](value)
    return value


class StatedTask(spec.StatedFields):
    """What a sentence, flags or a file can state about a task; what they leave open follows from the data."""

    threshold: str = ""
    """Two classes of a numeric column, which becomes the target: `price > 5000`."""
    clusters: spec.Scalar = ""
    """Number of clusters: `4`, or a range such as `3-6`."""
    horizon: spec.Scalar = ""
    """Forecast: steps, or a time such as `24 hours`."""
    frequency: str = ""
    """Forecast: the interval between rows as a pandas offset, e.g. `h`, `15min`, `MS`."""
    series: str = ""
    """Forecast: the column that names the series of each row, if there are several."""
    known_ahead: spec.Texts = ()
    """Forecast: columns whose future values are known."""
    split: spec.Scalar = ""
    """`random`, `stratified`, `group`, `time`, a column that names the parts, a share of test rows such as `0.3`, a
    start of the test rows such as `2024-03` or `P3M`, or `folds:5`; several with commas, e.g. `time, 30%`.
    """

    @field_validator("problem")
    @classmethod
    def _known_problem(cls, value: str) -> str:
        known = names("problem")
        if value and value not in known:
            raise ValueError(f"{value!r} is not supported.{did_you_mean(value, known)} There are {listed(known)}")
        return value

    _convertible = field_validator("metric", "threshold", "clusters", "split")(_require_convertible)


class TaskFile(spec.TaskFields, StatedTask):
    """A task as a user writes it. Every field is optional; missing ones have a default or follow from the data."""

    holidays: str = ""
    """Forecast: the country whose public holidays are used, e.g. `DE`, or its part, `DE-BY`."""
    quantiles: tuple[float, ...] = ()
    """Forecast: quantiles of its intervals, such as 0.1 and 0.9."""
    constraints: spec.Texts = ()
    """Limits such as `accuracy>=0.9`, `latency<=20ms`, `batch_time<=2s`, `size<=5MB`, `training_time<=60s`,
    `parameters<=1e6`."""
    learners: spec.Texts = ()
    """Learners or families: `lightgbm` requires, `-lightgbm` or `not:lightgbm` forbids, `first:lightgbm` prefers,
    `baseline:linear` compares."""

    _wishes_convertible = field_validator("constraints", "learners")(_require_convertible)


FLAGS: Mapping[str, str] = {
    "arrays": "array", "constraints": "constraint", "learners": "learner", "tracks": "track",
}  # fmt: skip
"""Flags whose name differs from their field."""


def task_of(file: TaskFile, origin: spec.Origin) -> spec.TaskSpec:
    """Converts the given fields into a partial task with its sources."""
    values: dict[str, Any] = {}
    forecast: dict[str, Any] = {}
    sources: dict[str, spec.FieldSource] = {}
    for field in sorted(file.model_fields_set, key=list(TaskFile.model_fields).index):
        value = getattr(file, field)
        if value in ("", ()) or (field == "ensemble" and value is None):
            continue
        if field in _OF_FORECAST:
            forecast[field] = value
        else:
            values[field] = _TYPED[field](value) if field in _TYPED else value
        words = ", ".join(map(str, value if isinstance(value, tuple) else (value,))).removesuffix(".0")
        if origin == "flag":
            words = f"--{FLAGS.get(field, field).replace('_', '-')} {words}"
        paths = [f"forecast.{field}" if field in _OF_FORECAST else field]
        if field in ("split", "clusters"):
            paths = [f"{field}.{part}" for part in values[field].model_fields_set]
        sources |= {path: spec.FieldSource(origin=origin, words=words) for path in paths if path != "sentence"}
    return spec.TaskSpec(**values, forecast=spec.Forecast(**forecast), sources=sources)
