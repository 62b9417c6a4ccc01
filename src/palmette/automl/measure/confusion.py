"""Metrics of labels from confusion matrices, truth by prediction; they agree with scikit-learn.

Counts are (..., k, k) and the result has the leading axes: one pass over the rows gives the metric of hundreds of
decisions at once, and a resample takes no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Floats = NDArray[np.float64]


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


def _kappa(weights: Callable[[int], Floats]) -> Callable[[Counts, int], Floats]:
    def compute(table: Counts, _: int) -> Floats:
        cost = weights(table.shape[-1])
        total = table.sum(axis=(-2, -1))
        by_chance = _support(table)[..., :, None] * _predicted(table)[..., None, :] / total[..., None, None]
        return 1 - _ratio((table * cost).sum(axis=(-2, -1)), (by_chance * cost).sum(axis=(-2, -1)))

    return compute


FORMULAS: Mapping[str, Callable[[Counts, int], Floats]] = {
    "accuracy": lambda table, _: _ratio(_hits(table).sum(axis=-1), table.sum(axis=(-2, -1))),
    "balanced_accuracy": lambda table, _: _mean_of_present(_ratio(_hits(table), _support(table)), _support(table) > 0),
    "f1": lambda table, positive: _f1_each(table)[..., positive],
    "f1_macro": lambda table, _: _mean_of_present(_f1_each(table), _support(table) + _predicted(table) > 0),
    "f1_weighted": lambda table, _: _ratio((_f1_each(table) * _support(table)).sum(axis=-1), table.sum(axis=(-2, -1))),
    "precision": lambda table, positive: _ratio(_hits(table), _predicted(table))[..., positive],
    "recall": lambda table, positive: _ratio(_hits(table), _support(table))[..., positive],
    "mcc": lambda table, _: _mcc(table),
    "kappa": _kappa(lambda classes: 1.0 - np.eye(classes)),
    "quadratic_kappa": _kappa(lambda classes: np.subtract.outer(np.arange(classes), np.arange(classes)) ** 2.0),
}
"""Formulas by the name of the metric; the number of the positive class is for metrics of one class."""

MOVED = frozenset({"f1", "f1_macro", "balanced_accuracy", "mcc", "kappa", "quadratic_kappa"})
"""Metrics that gain from another decision than the most probable class. Accuracy does not; precision or recall alone
would be driven to one answer for all."""
