"""What a run is to reach: target, task, metric and direction, fixed before anything is learnt."""

from __future__ import annotations

import re
from typing import Literal

from palmette.automl.data import Aim, Dataset
from palmette.automl.measure import Metric, metric_of
from palmette.automl.profile import Profile, TargetProfile
from palmette.automl.requirements import Requirements
from palmette.automl.requirements.classes import measured_class
from palmette.automl.requirements.columns import split_name
from palmette.automl.requirements.model import SplitWish
from palmette.documents import Model
from palmette.errors import UserError

IMBALANCED = 0.2
"""Share of the rarest of two classes below which a ranking says more than labels."""
ORDERS = 2.0
"""Powers of ten that a target must span for errors to be meant as ratios."""


class Goal(Model):
    """What is to be predicted, and by which number candidates are compared."""

    task: Literal["classification", "regression", "clustering"]
    target: str
    """Empty for clustering."""
    metric: str
    why: str
    """Where the metric is from."""
    positive: str | None = None
    """The class that a metric of one class is about."""
    greater_is_better: bool

    @property
    def measure(self) -> Metric:
        return metric_of(self.metric, self.task)


def aim_of(requirements: Requirements, dataset: Dataset, seed: int = 0, share: float = 0.2) -> Aim:
    """What is to be predicted, and how the rows are to be cut for it; `share` is held out unless the request says more.

    Raises:
        UserError: the task is none of tables, the target is no column, or not what the rows to predict lack, or no
            column has times to divide the rows by.
    """
    task = requirements.problem.task
    if task not in ("classification", "regression", "clustering"):
        wanted = f"{task!r}" if task else "open"
        raise UserError(
            f"The task is {wanted}; this version works on classification, regression and clustering of tables.",
            _instead(requirements) if task == "forecasting" else "Say in the request which of them is meant.",
            code="task-unsupported",
        )
    target = "" if task == "clustering" else _target(requirements, dataset)
    split = requirements.dataset.split or SplitWish()
    test = split.fractions.get("test") or 1 - split.fractions.get("train", 1.0)
    return Aim(
        target=target,
        task=task,
        group=split.group if dataset.column(split.group) is not None and share else "",
        time=_time(dataset, target) if split.by == "time" and share else "",
        since=split.test_from if share else "",
        share=test if share and 0 < test < 1 else share,
        seed=seed,
    )


def _instead(requirements: Requirements) -> str:
    """What can be asked for in the place of a forecast."""
    target = requirements.dataset.target_column or "sales"
    return (
        "A future series cannot be made. Where the other columns of a row are known beforehand, ask for that row: "
        f"Predict the column {target!r} from the other columns; test on the latest 20 % of the rows."
    )


def _time(dataset: Dataset, target: str) -> str:
    """The column of times with the most different ones, else one of years.

    Raises:
        UserError: there is none.
    """
    dated = [column for column in dataset.columns if column.kind == "datetime"]
    years = [one for one in dataset.columns if "year" in split_name(one.name) and all(map(_is_year, one.examples))]
    found = [column for column in dated or years if column.name != target]
    if not found:
        raise UserError(
            "The rows are to be divided by time, and no column holds times.",
            "Leave that wish out of the request, or add a column of dates.",
            code="no-times",
        )
    return max(found, key=lambda column: column.distinct).name


def _is_year(value: str) -> bool:
    return re.fullmatch(r"(?:19|20)\d\d(?:\.0)?", value) is not None


def _target(requirements: Requirements, dataset: Dataset) -> str:
    named = requirements.dataset.target_column or requirements.dataset.target
    column = dataset.column(named)
    if column is None:
        columns = ", ".join(repr(one.name) for one in dataset.columns[:12])
        raise UserError(
            f"The target {named!r} is no column of the data.",
            f"Name one of {columns} in the request.",
            code="no-such-column",
        )
    if dataset.predict_rows and dataset.targets and column.name not in dataset.targets:
        lacking = ", ".join(map(repr, dataset.targets))
        raise UserError(
            f"{column.name!r} is to be predicted, but the {dataset.predict_rows} rows to predict lack {lacking}.",
            f"Add {lacking} to their file, leave the file out, or ask for {lacking}.",
            code="rows-lack-columns",
        )
    return column.name


def goal_of(requirements: Requirements, profile: Profile) -> Goal:
    """The goal: the metric that the request names, else the one that suits target and task.

    Raises:
        UserError: the metric is none of the task, or the target has values that it is not defined for.
    """
    aim, problem = profile.aim, requirements.problem
    assert aim.task != "forecasting"
    named = problem.metric or next((one.metric for one in problem.constraints if one.metric), None)
    if named:
        metric, why = metric_of(named, aim.task), "the request names it"
    else:
        name, why = _usual(aim.task, profile.target)
        metric = metric_of(name, aim.task)
    _require_range(metric.name, profile.target)
    return Goal(
        task=aim.task,
        target=aim.target,
        metric=metric.name,
        why=why,
        positive=positive_class(requirements, profile.target) if aim.task == "classification" else None,
        greater_is_better=metric.greater_is_better,
    )


SLIM = 3
"""Folds where each fold's model, which is delivered, makes answers slower and the model larger than they may be."""


def folds_wanted(requirements: Requirements, usual: int) -> int:
    """How many folds candidates are compared in: fewer where time to answer or size are limited."""
    limited = {one.quantity for one in requirements.problem.constraints} & {"prediction time", "model size"}
    return min(usual, SLIM) if limited else usual


def most_seconds(requirements: Requirements) -> float | None:
    """What training may take at most; None where the request does not say."""
    limits = [one for one in requirements.problem.constraints if one.quantity == "training time"]
    return min((one.value for one in limits if one.comparison in ("<", "<=")), default=None)


def _require_range(metric: str, target: TargetProfile | None) -> None:
    """Raises UserError for a metric of logarithms, and a target that has none."""
    least = target.numbers.least if target is not None and target.numbers is not None else 1.0
    if (metric == "rmsle" and least < 0) or (metric == "rmse_log" and least <= 0):
        assert target is not None
        raise UserError(
            f"The metric {metric!r} is of logarithms, and the target {target.name!r} has the value {least:g}.",
            "Name another metric in the request, for example RMSE or mean absolute error.",
            code="metric-unsuited",
        )


def _usual(task: str, target: TargetProfile | None) -> tuple[str, str]:
    """The metric for a target about which nobody said what counts, and why."""
    if task == "clustering" or target is None:
        return "silhouette", "there are no labels to compare with"
    if task == "classification":
        least = target.classes[-1].share if target.classes else 0.0
        if target.class_count == 2:
            if least < IMBALANCED:
                return "roc_auc", f"only {least:.1%} of the rows are of the rarer class"
            return "accuracy", "the two classes are about as frequent"
        even = target.entropy > 0.9
        return ("accuracy", "classes are about as frequent") if even else ("f1_macro", "classes differ in frequency")
    if target.orders >= ORDERS and target.numbers is not None and target.numbers.least >= 0:
        return "rmsle", f"the target spans {target.orders:.1f} powers of ten"
    return "rmse", "large errors count most"


NEGATIVE = frozenset({"0", "no", "false", "n", "f", "negative", "bad", "normal", "none", "absent", "healthy"})


def positive_class(requirements: Requirements, target: TargetProfile | None) -> str | None:
    """The class that the request is about: of two, the one that it measures, the one that is not plainly the negative,
    or the rarer."""
    if target is None or target.class_count != 2:
        return None
    first, second = (one.value for one in target.classes)  # the most frequent first
    named = next((one for one in (first, second) if one.casefold() == requirements.problem.positive.casefold()), None)
    meant = named or measured_class(requirements.text, (first, second), requirements.problem.classes)
    if meant is not None:
        return meant
    negative = [value for value in (first, second) if value.strip().casefold() in NEGATIVE]
    if len(negative) == 1:
        return second if negative[0] == first else first
    said = [name for name in requirements.problem.classes if name.casefold() in (first.casefold(), second.casefold())]
    if said:
        return first if said[0].casefold() == first.casefold() else second
    return second
