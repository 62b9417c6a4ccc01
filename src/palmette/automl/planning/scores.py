"""What a candidate is expected to score before it is trained: the skill it had on the most similar measured data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from palmette.automl.measure import Metric
from palmette.automl.profile import Profile
from palmette.automl.profile.meta import NAMES
from palmette.documents import Model, read_document

NEAREST = 3
"""Measured sets that a guess rests on."""
CLOSE = 0.25
"""Distance within which sets count alike."""
NORMAL_MAE = 0.8
"""Mean absolute deviation of a normal distribution, in standard deviations."""
NORMAL_ORDERS = 4.65 / math.log(10)
"""Powers of ten between the percentiles 1 and 99 of a log-normal distribution, by standard deviations of its log."""
MEASURED_AS: Mapping[str, str] = {
    "balanced_accuracy": "f1_macro",
    "f1": "f1_macro",
    "f1_weighted": "accuracy",
    "mcc": "f1_macro",
    "kappa": "f1_macro",
    "quadratic_kappa": "f1_macro",
    "average_precision": "roc_auc",
    "mse": "rmse",
    "r2": "rmse",
    "medae": "mae",
    "rmse_log": "rmsle",
}
"""By metric that was not measured: the one whose skill is taken for it."""


class MeasuredSet(Model):
    """A data set on which algorithms were measured at their starting points, out of fold."""

    task: str
    figures: Mapping[str, float]
    """Its meta-features, by name."""
    skills: Mapping[str, tuple[float, ...]]
    """By algorithm: the share of the dummy's error that it removed, by metric in the order of `metrics`."""


class MeasuredSets(Model):
    """All measurements."""

    how: str
    metrics: Mapping[str, tuple[str, ...]]
    """By task."""
    sets: Mapping[str, MeasuredSet]


class Expected(NamedTuple):
    """A guess that rests on measurements of other data."""

    skill: float | None
    """Share of the dummy's error that is removed; None where nothing comparable was measured."""
    score: float | None
    """In the metric of the run; None where the dummy's score cannot be told from the profile."""
    reason: str


UNKNOWN = Expected(None, None, "nothing comparable was measured")


@cache
def measured() -> MeasuredSets:
    """The measurements; read once."""
    return read_document(Path(__file__).with_name("measured.yaml"), MeasuredSets)


def expected(algorithm: str, profile: Profile, metric: Metric | None) -> Expected:
    """What an algorithm is expected to score, and why."""
    task = profile.aim.task
    names = measured().metrics.get(task, ())
    name = MEASURED_AS.get(metric.name, metric.name) if metric else ""
    if metric is None or name not in names:
        return UNKNOWN
    here = _place({one.name: one.value for one in profile.meta})
    known = [one for one in measured().sets.values() if one.task == task and algorithm in one.skills]
    near = sorted((math.dist(here, _place(one.figures)), one.skills[algorithm][names.index(name)]) for one in known)
    if not near:
        return UNKNOWN
    weights = [1 / (CLOSE + distance) for distance, _ in near[:NEAREST]]
    skill = sum(weight * found for weight, (_, found) in zip(weights, near, strict=False)) / sum(weights)
    reason = f"removed about {max(skill, 0):.0%} of the dummy's error on the {len(weights)} most similar measured sets"
    dummy = dummy_score(metric, profile)
    return Expected(_digits(skill), None if dummy is None else _digits(_score(metric, dummy, skill)), reason)


def _place(figures: Mapping[str, float]) -> tuple[float, ...]:
    """Where a data set stands among others: how much its columns tell by themselves counts most, its size least."""
    found = {name: figures.get(name, 0.0) for name in NAMES}
    columns = max(found["columns"], 1.0)
    return (
        0.2 * math.log10(max(found["rows"], 1.0)),
        0.2 * math.log10(columns),
        0.2 * (found["categorical_columns"] + found["boolean_columns"]) / columns,
        0.5 * math.log10(1 + found["classes"]),
        found["skill_most"],
        4 * found["strength_mean"],
        found["strength_most"],
        0.2 * found["class_entropy"],
    )


def _score(metric: Metric, dummy: float, skill: float) -> float:
    left = metric.error(dummy) * (1 - skill)
    return metric.perfect - left if metric.greater_is_better else metric.perfect + left


def dummy_score(metric: Metric, profile: Profile) -> float | None:
    """What the best constant scores, as far as the profile tells; of errors on a log scale, as if that were normal."""
    target = profile.target
    if target is None:
        return None
    facts = target.numbers
    if facts is not None:
        deviation = facts.deviation
        on_log = target.orders / NORMAL_ORDERS if target.orders else None
        known = {"rmse": deviation, "mse": deviation**2, "r2": 0.0, "mae": NORMAL_MAE * deviation}
        return on_log if metric.name in ("rmsle", "rmse_log") else known.get(metric.name)
    shares = [one.share for one in target.classes]
    if not shares:
        return None
    most, count = max(shares), target.class_count
    by_class = {
        "accuracy": most,
        "balanced_accuracy": 1 / count,
        "f1_macro": 2 * most / (1 + most) / count,
        "f1_weighted": most * 2 * most / (1 + most),
        "roc_auc": 0.5,
        "average_precision": 1 / count if count > 2 else min(shares),
        "log_loss": -sum(share * math.log(share) for share in shares if share),
        "mcc": 0.0,
        "kappa": 0.0,
        "quadratic_kappa": 0.0,
    }
    return by_class.get(metric.name)


def _digits(value: float) -> float:
    """Three significant digits: a guess is not better known."""
    return float(f"{value:.3g}")
