"""How far a measured score may be off by chance: bootstrap intervals over the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.metrics import Metric, Predictions, score
from palmette.documents import Model

MOST = 4_000
"""Rows of a resample at most: more cost time, and the width follows from fewer (Bickel et al., 1997)."""
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
    return _of(found, score(metric, truth, predictions, positive), len(truth))


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

    def gain(rows: NDArray[np.intp]) -> float:
        mine, other = (score(metric, truth[rows], one.take(rows), positive) for one in (first, second))
        return sign * (mine - other)

    found = [gain(rows) for rows in _draws(len(truth), seed, rounds)]
    return _of(found, gain(np.arange(len(truth))), len(truth))


def _draws(size: int, seed: int, rounds: int) -> list[NDArray[np.intp]]:
    """Rows of each resample; of many rows, fewer than there are."""
    random = np.random.default_rng(seed)
    return [random.integers(0, size, min(size, MOST)) for _ in range(rounds)]


def _of(found: list[float], whole: float, size: int) -> Interval:
    """The middle 95 %; of resamples smaller than the rows (m out of n), drawn in to `whole` by the root of m / n."""
    low, high = np.nanpercentile(found, [2.5, 97.5])
    share = np.sqrt(min(size, MOST) / size)
    return Interval(low=float(whole + share * (low - whole)), high=float(whole + share * (high - whole)))
