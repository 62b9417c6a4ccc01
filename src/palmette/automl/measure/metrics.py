"""The metrics by name: what each needs, which way is better, and its value, by scikit-learn where it has one."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Task = Literal["classification", "regression", "clustering", "forecasting"]
Needs = Literal["labels", "probabilities", "values", "groups", "distances"]
"""distances: of groups and the rows themselves; their numbers (n, d) are passed in place of the truth."""

Floats = NDArray[np.float64]
Counts = NDArray[np.float64]
"""Confusion matrices (..., k, k), truth by prediction, or numbers of their rows and columns.

A metric of them has the leading axes: one pass over the rows gives the metric of hundreds of decisions at once, and a
resample takes no time.
"""
Rows = NDArray[np.intp] | slice
Truths = NDArray[np.bool_]


@dataclass(frozen=True)
class Predictions:
    """Predictions for n rows."""

    values: NDArray[np.generic]  # (n,): class names as text, numbers, or group numbers
    probabilities: Floats | None = None  # (n, k): of the classes, in the order of `classes`; rows sum to 1
    classes: tuple[str, ...] = ()
    quantiles: Floats | None = None  # (n, q): of forecasts, in the order of `levels`
    levels: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> "Predictions":
        """The rows at these positions."""
        some, bands = (None if one is None else one[rows] for one in (self.probabilities, self.quantiles))
        return Predictions(self.values[rows], some, self.classes, bands, self.levels)


Formula = Callable[[NDArray[np.generic], Predictions, str | None], Callable[[Rows], float]]
"""From truth (n,), predictions, and the positive class where there is one, to the value on some of the rows."""


@dataclass(frozen=True)
class Metric:
    """How good predictions are."""

    name: str
    task: Task
    needs: Needs
    prepared: Formula
    perfect: float = 1.0  # the best value there is
    greater_is_better: bool = True

    def better(self, first: float, second: float) -> bool:
        """Whether the first value is better than the second."""
        return first > second if self.greater_is_better else first < second

    def error(self, value: float) -> float:
        """How far from perfect; 0 is perfect."""
        return abs(self.perfect - value) if math.isfinite(self.perfect) else 1 / max(value, 1e-12)


def counts(truth: NDArray[np.intp], predicted: NDArray[np.intp], classes: int) -> Counts:
    """(k, k) of class numbers (n,)."""
    flat = np.bincount(truth * classes + predicted, minlength=classes**2)
    return flat.reshape(classes, classes).astype(np.float64)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole != 0)


def _hits(table: Counts) -> Floats:
    return np.diagonal(table, axis1=-2, axis2=-1)


def _support(table: Counts) -> Floats:
    return np.asarray(table.sum(axis=-1))


def _predicted(table: Counts) -> Floats:
    return np.asarray(table.sum(axis=-2))


def _f1_each(table: Counts) -> Floats:
    return _ratio(2 * _hits(table), _support(table) + _predicted(table))


def _mean_of_present(values: Floats, present: NDArray[np.bool_]) -> Floats:
    return _ratio((values * present).sum(axis=-1), present.sum(axis=-1).astype(float))


def _mcc(table: Counts) -> Floats:
    total, support, predicted = table.sum(axis=(-2, -1)), _support(table), _predicted(table)
    covariance = _hits(table).sum(axis=-1) * total - (support * predicted).sum(axis=-1)
    spread = np.sqrt((total**2 - (predicted**2).sum(axis=-1)) * (total**2 - (support**2).sum(axis=-1)))
    return _ratio(covariance, spread)


def _kappa(table: Counts, cost: Floats) -> Floats:
    total = table.sum(axis=(-2, -1))
    by_chance = _support(table)[..., :, None] * _predicted(table)[..., None, :] / total[..., None, None]
    return 1 - _ratio((table * cost).sum(axis=(-2, -1)), (by_chance * cost).sum(axis=(-2, -1)))


FORMULAS: Mapping[str, Callable[[Counts, int], Floats]] = {
    "accuracy": lambda table, _: _ratio(_hits(table).sum(axis=-1), table.sum(axis=(-2, -1))),
    "balanced_accuracy": lambda table, _: _mean_of_present(_ratio(_hits(table), _support(table)), _support(table) > 0),
    "f1": lambda table, positive: _f1_each(table)[..., positive],
    "f1_macro": lambda table, _: _mean_of_present(_f1_each(table), _support(table) + _predicted(table) > 0),
    "f1_weighted": lambda table, _: _ratio((_f1_each(table) * _support(table)).sum(axis=-1), table.sum(axis=(-2, -1))),
    "precision": lambda table, positive: _ratio(_hits(table), _predicted(table))[..., positive],
    "recall": lambda table, positive: _ratio(_hits(table), _support(table))[..., positive],
    "mcc": lambda table, _: _mcc(table),
    "kappa": lambda table, _: _kappa(table, 1.0 - np.eye(table.shape[-1])),
    "quadratic_kappa": lambda table, _: _kappa(table, np.diff(np.indices(table.shape[-2:]), axis=0)[0] ** 2.0),
}
"""Formulas by the name of the metric; the number of the positive class is for metrics of one class."""

MOVED = frozenset({"f1", "f1_macro", "balanced_accuracy", "mcc", "kappa", "quadratic_kappa"})
"""Metrics that gain from another decision than the most probable class. Accuracy does not; precision or recall alone
would be driven to one answer for all."""


def score(metric: Metric, truth: NDArray[np.generic], predictions: Predictions, positive: str | None = None) -> float:
    """The metric's value.

    `truth` is (n,): class names, numbers (no NaN) or, for clustering, the true groups; where distances are needed,
    it is (n, d). `positive` is the class that a metric of one class is about; the last in order when none is given.
    Raises ValueError where the predictions are not of these rows, or lack what the metric needs.
    """
    if len(truth) != len(predictions):
        raise ValueError(f"{len(predictions)} predictions for {len(truth)} rows")
    if metric.needs == "probabilities" and predictions.probabilities is None:
        raise ValueError(f"{metric.name} needs probabilities")
    return metric.prepared(truth, predictions, positive)(slice(None))


def undefined(metric: Metric, truth: NDArray[np.generic]) -> str:
    """Why no prediction of rows with this truth (n,) has a value of the metric, as a clause; empty where some has."""
    if not len(truth):
        return "no value of the hold-out is known"
    every, are = (f"all {len(truth)} rows", "are") if len(truth) > 1 else ("the only row", "is")
    if metric.name in RANKINGS or metric.name in ("kappa", "quadratic_kappa"):
        return f"{every} {are} of the class {str(truth[0])!r}" if len(np.unique(truth)) == 1 else ""
    if metric.name == "r2":
        return f"the target is {float(truth[0]):g} in {every}" if len(np.unique(truth)) == 1 else ""
    least = {"rmsle": -1.0, "rmse_log": 0.0}.get(metric.name)
    if least is not None and (worst := float(truth.astype(float).min())) <= least:
        return f"the target is {worst:g} in a row, and the metric is of logarithms"
    return ""


def error_reduction(metric: Metric, value: float, dummy: float) -> float:
    """The share of the dummy's error that is removed: 0 is the dummy, 1 is perfect, below 0 is worse than the dummy."""
    worst = metric.error(dummy)
    return 1.0 if worst == 0 else 1.0 - metric.error(value) / worst


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Classes by size where all are numbers, so that 10 comes after 2; else by name."""
    listed = sorted(names)
    try:
        return tuple(sorted(listed, key=float))
    except ValueError:
        return tuple(listed)


def classes_of(truth: NDArray[np.generic], predictions: Predictions) -> tuple[str, ...]:
    """All classes that occur: those of the model in its order, then any other."""
    found = {str(name) for name in np.unique(np.concatenate([truth, predictions.values]))}
    return (*predictions.classes, *in_order(found.difference(predictions.classes)))


def hits(truth: NDArray[np.generic], predictions: Predictions, positive: str | None) -> tuple[Truths, Floats]:
    """For each class that is ranked, whether a row is of it and its probability, each (n, classes)."""
    assert predictions.probabilities is not None
    classes, chances = np.array(predictions.classes), predictions.probabilities
    if len(classes) == 2:
        one = positive_of(truth, predictions, positive)
        classes, chances = np.array([one]), chances[:, [predictions.classes.index(one)]]
    return truth[:, None] == classes, chances


def ranked(name: str, hit: Truths, chances: Floats) -> float:
    """The mean over the classes that some rows are of and some are not; NaN where there is none."""
    split = hit.any(axis=0) & ~hit.all(axis=0)
    return float(RANKINGS[name](hit[:, split], chances[:, split]).mean()) if split.any() else float("nan")


def _area(hit: Truths, chances: Floats) -> Floats:
    """Under the ROC curve of each column: how often a row of the class is above another, by the sum of its ranks."""
    count = hit.sum(axis=0)
    above = (pd.DataFrame(chances).rank().to_numpy() * hit).sum(axis=0) - count * (count + 1) / 2
    return np.asarray(above / (count * (len(hit) - count)))


def _precision(hit: Truths, chances: Floats) -> Floats:
    """Average precision of each column: the mean over its rows of the precision at their probability."""
    right = pd.DataFrame(np.where(hit, -chances, np.inf)).rank(method="max").to_numpy()
    predicted = pd.DataFrame(-chances).rank(method="max").to_numpy()
    return np.asarray((right / predicted * hit).sum(axis=0) / hit.sum(axis=0))


RANKINGS: Mapping[str, Callable[[Truths, Floats], Floats]] = {"roc_auc": _area, "average_precision": _precision}
"""Ranking metrics of all classes at once: one by one, many classes would take minutes."""


def _log_loss(truth: NDArray[np.generic], predictions: Predictions) -> float:
    """A class that the model does not know has no probability."""
    assert predictions.probabilities is not None
    places = pd.Index(predictions.classes).get_indexer(pd.Index(truth))
    of_truth = np.where(places < 0, 0.0, predictions.probabilities[np.arange(len(truth)), places])
    return float(-np.log(np.clip(of_truth, 1e-15, 1.0)).mean())


def positive_of(truth: NDArray[np.generic], predictions: Predictions, positive: str | None) -> str:
    return positive if positive is not None else (predictions.classes or tuple(np.unique(truth).astype(str)))[-1]


def _rmse(truth: Floats, predicted: Floats) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def _relative(truth: Floats, predicted: Floats, size: Floats) -> float:
    """The mean absolute error as a share of a size of each value."""
    return float(np.mean(np.abs(truth - predicted) / np.maximum(size, 1e-12)))


def _r2(truth: Floats, predicted: Floats) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return 1.0 - float(np.sum((truth - predicted) ** 2)) / spread if spread else float("nan")


def _wql(truth: NDArray[np.generic], predictions: Predictions) -> float:
    """Twice the mean pinball loss of the quantiles, by the size of the truth; of values alone, of the median."""
    true, made, levels = truth.astype(np.float64), predictions.quantiles, np.array(predictions.levels)
    if made is None:
        made, levels = predictions.values.astype(np.float64)[:, None], np.array([0.5])
    short = true[:, None] - made
    losses = 2 * np.maximum(levels * short, (levels - 1) * short).mean(axis=1)
    return float(losses.sum() / max(np.abs(true).sum(), 1e-12))


def _unprepared(compute: Callable[[NDArray[np.generic], Predictions], float]) -> Formula:
    """The formula of a metric that is computed anew on any rows."""
    return lambda truth, predictions, _: lambda rows: compute(truth[rows], predictions.take(rows))


def _of_values(
    name: str, formula: Callable[[Floats, Floats], Any], task: Task = "regression", perfect: float = 0.0
) -> Metric:
    def compute(truth: NDArray[np.generic], predictions: Predictions) -> float:
        return float(formula(truth.astype(np.float64), predictions.values.astype(np.float64)))

    return Metric(name, task, "values", _unprepared(compute), perfect, greater_is_better=perfect > 0)


def _of_labels(name: str) -> Metric:
    """A metric of confusion matrices; labels become numbers once, as comparing text takes most of its time."""

    def prepared(truth: NDArray[np.generic], predictions: Predictions, positive: str | None) -> Callable[[Rows], float]:
        one = positive_of(truth, predictions, positive)
        names = pd.Index(list(dict.fromkeys((*classes_of(truth, predictions), one))))
        true, predicted, (place,) = (names.get_indexer(pd.Index(texts)) for texts in (truth, predictions.values, [one]))
        return lambda rows: float(FORMULAS[name](counts(true[rows], predicted[rows], len(names)), int(place)))

    return Metric(name, "classification", "labels", prepared)


def _of_ranks(name: str) -> Metric:
    """A ranking metric: by the positive class of two, else the mean of each class against the rest."""

    def prepared(truth: NDArray[np.generic], predictions: Predictions, positive: str | None) -> Callable[[Rows], float]:
        hit, chances = hits(truth, predictions, positive)
        return lambda rows: ranked(name, hit[rows], chances[rows])

    return Metric(name, "classification", "probabilities", prepared)


def _of_groups(name: str, function: str, needs: Needs = "groups", perfect: float = 1.0) -> Metric:
    def compute(truth: NDArray[np.generic], predictions: Predictions) -> float:
        from sklearn import metrics

        return float(getattr(metrics, function)(truth, predictions.values))

    return Metric(name, "clustering", needs, _unprepared(compute), perfect, greater_is_better=perfect > 0)


_ALL = (
    *map(_of_labels, FORMULAS),
    *map(_of_ranks, RANKINGS),
    Metric("log_loss", "classification", "probabilities", _unprepared(_log_loss), 0.0, greater_is_better=False),
    _of_values("rmse", _rmse),
    _of_values("mse", lambda true, made: np.mean((true - made) ** 2)),
    _of_values("mae", lambda true, made: np.mean(np.abs(true - made))),
    _of_values("medae", lambda true, made: np.median(np.abs(true - made))),
    _of_values("mape", lambda true, made: _relative(true, made, np.abs(true))),
    _of_values("smape", lambda true, made: _relative(true, made, (np.abs(true) + np.abs(made)) / 2)),
    _of_values("rmsle", lambda true, made: _rmse(np.log1p(true), np.log1p(np.clip(made, 0, None)))),
    # A prediction of zero or less counts as a tenth of the smallest true value.
    _of_values("rmse_log", lambda true, made: _rmse(np.log(true), np.log(np.clip(made, true.min() * 0.1, None)))),
    _of_values("r2", _r2, perfect=1.0),
    # Values are in units of the error of the seasonal naive forecast.
    _of_values("mase", lambda true, made: np.mean(np.abs(true - made)), "forecasting"),
    Metric("wql", "forecasting", "values", _unprepared(_wql), 0.0, greater_is_better=False),
    _of_groups("rand", "rand_score"),
    _of_groups("adjusted_rand", "adjusted_rand_score"),
    _of_groups("nmi", "normalized_mutual_info_score"),
    _of_groups("ami", "adjusted_mutual_info_score"),
    _of_groups("homogeneity", "homogeneity_score"),
    _of_groups("completeness", "completeness_score"),
    _of_groups("fowlkes_mallows", "fowlkes_mallows_score"),
    _of_groups("silhouette", "silhouette_score", "distances"),
    _of_groups("davies_bouldin", "davies_bouldin_score", "distances", 0.0),
    _of_groups("calinski_harabasz", "calinski_harabasz_score", "distances", math.inf),
)

METRICS: Mapping[str, Metric] = {one.name: one for one in _ALL}
