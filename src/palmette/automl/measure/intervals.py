"""How far a measured score may be off by chance: bootstrap intervals over the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.metrics import Metric, Predictions, score
from palmette.documents import Model

ROUNDS = 400
"""Resamples: the ends of a 95 % interval then vary by a few per cent of its width."""


class Interval(Model):
    """A 95 % percentile interval of the bootstrap."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def interval(
    metric: Metric,
    truth: NDArray[np.generic],
    predictions: Predictions,
    positive: str | None = None,
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
) -> Interval:
    """The interval of one score; `truth` is (n,), and rows are drawn independently."""
    found = [score(metric, truth[rows], predictions.take(rows), positive) for rows in _draws(len(truth), seed, rounds)]
    return _of(found)


def difference(
    metric: Metric,
    truth: NDArray[np.generic],
    first: Predictions,
    second: Predictions,
    positive: str | None = None,
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
) -> Interval:
    """The interval of how much better `first` is than `second` on the same rows; positive is better.

    One that holds 0 says that they differ by no more than noise.
    """
    sign = 1.0 if metric.greater_is_better else -1.0
    found = [
        sign
        * (
            score(metric, truth[rows], first.take(rows), positive)
            - score(metric, truth[rows], second.take(rows), positive)
        )
        for rows in _draws(len(truth), seed, rounds)
    ]
    return _of(found)


def _draws(size: int, seed: int, rounds: int) -> list[NDArray[np.intp]]:
    random = np.random.default_rng(seed)
    return [random.integers(0, size, size) for _ in range(rounds)]


def _of(found: list[float]) -> Interval:
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return Interval(low=float(low), high=float(high))
