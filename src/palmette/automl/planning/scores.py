"""Expected scores before training: a learner's error reduction on the most similar measured data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from palmette.automl.kinds import UNUSABLE
from palmette.automl.measure import Metric
from palmette.automl.profile import Profile
from palmette.documents import Model, read_document

NEAREST = 3
"""Number of measured sets that an estimate uses."""
DISTANCE_OFFSET = 0.25
"""Added to distances before weighting, so that sets closer than this count nearly alike."""
NORMAL_MAE = 0.8
"""Mean absolute deviation of a normal distribution, in standard deviations."""
NORMAL_ORDERS = 4.65 / math.log(10)
"""Powers of ten between percentiles 1 and 99 of a log-normal distribution, per standard deviation of its log."""
KINDS = frozenset({"number", "category", "boolean", "datetime", *UNUSABLE})
"""Column kinds in the measured sets."""
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
"""Measured metric whose error reduction stands in for an unmeasured one."""


class MeasuredSet(Model):
    """A data set on which the first configuration of each learner was measured out of fold."""

    problem: str
    figures: Mapping[str, float]
    """Meta-features by name."""
    reductions: Mapping[str, tuple[float, ...]]
    """Share of the dummy's error that each learner removed; values by metric, in the order of `metrics`."""


class MeasuredSets(Model):
    """All measurements."""

    how: str
    metrics: Mapping[str, tuple[str, ...]]
    """Metrics by problem."""
    sets: Mapping[str, MeasuredSet]


class ExpectedScore(NamedTuple):
    """An estimate based on measurements of other data sets."""

    reduction: float | None
    """Share of the dummy's error that is removed; None if nothing comparable was measured."""
    score: float | None
    """In the metric of the run; None if the profile does not determine the dummy's score."""
    reason: str


UNKNOWN = ExpectedScore(None, None, "nothing comparable was measured")


@cache
def measured() -> MeasuredSets:
    """Returns the measurements, which are read once."""
    return read_document(Path(__file__).with_name("measured.yaml"), MeasuredSets)


def expected_score(learner: str, profile: Profile, metric: Metric) -> ExpectedScore:
    """Returns the expected score of a learner, with the reason."""
    problem = profile.split.problem
    names = measured().metrics.get(problem, ())
    name = MEASURED_AS.get(metric.name, metric.name)
    if name not in names or any(one.kind not in KINDS for one in profile.columns):
        return UNKNOWN
    here = _position({one.name: one.value for one in profile.meta})
    known = [one for one in measured().sets.values() if one.problem == problem and learner in one.reductions]
    near = sorted(
        (math.dist(here, _position(one.figures)), one.reductions[learner][names.index(name)]) for one in known
    )
    if not near:
        return UNKNOWN
    weights = [1 / (DISTANCE_OFFSET + distance) for distance, _ in near[:NEAREST]]
    reduction = sum(weight * found for weight, (_, found) in zip(weights, near, strict=False)) / sum(weights)
    reason = f"removed {max(reduction, 0):.0%} of the dummy's error on the {len(weights)} most similar measured sets"
    dummy = dummy_score(metric, profile)
    return ExpectedScore(
        _digits(reduction), None if dummy is None else _digits(_score(metric, dummy, reduction)), reason
    )


def _position(figures: Mapping[str, float]) -> tuple[float, ...]:
    """Places a data set among others; how well single columns predict weighs most, size least."""

    def figure(name: str) -> float:
        return figures.get(name, 0.0)

    columns = max(figure("columns"), 1.0)
    return (
        0.2 * math.log10(max(figure("rows"), 1.0)),
        0.2 * math.log10(columns),
        0.2 * (figure("category_columns") + figure("boolean_columns")) / columns,
        0.5 * math.log10(1 + figure("classes")),
        figure("error_reduction_most"),
        4 * figure("mutual_information_mean"),
        figure("mutual_information_most"),
        0.2 * figure("class_entropy"),
    )


def _score(metric: Metric, dummy: float, reduction: float) -> float:
    left = metric.error(dummy) * (1 - reduction)
    return metric.perfect - left if metric.greater_is_better else metric.perfect + left


def dummy_score(metric: Metric, profile: Profile) -> float | None:
    """Returns the score of the best constant, or None if the profile does not determine it.

    Log metrics assume normally distributed logs.
    """
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
    """Rounds to three significant digits."""
    return float(f"{value:.3g}")
