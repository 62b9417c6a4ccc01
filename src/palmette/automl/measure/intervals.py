"""How far a measured score may be off by chance: bootstrap intervals over the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.confusion import FORMULAS, counts
from palmette.automl.measure.metrics import RANKINGS, Metric, Predictions, classes_of, hits, positive_of, ranked, score
from palmette.documents import Model

MOST = 4_000
"""Rows of a resample at most: more cost time, and the width follows from fewer (Bickel et al., 1997)."""
ROUNDS = 400
"""Resamples: the ends of a 95 % interval then vary by a few per cent of its width."""
WORK, LEAST = 10_000_000, 50
"""Rows times classes of all resamples together; beyond, there are fewer resamples, but not fewer than these."""


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
    scored = _scored(metric, truth, predictions, positive)
    found = [scored(rows) for rows in _draws(predictions, seed, rounds)]
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

    mine, other = (_scored(metric, truth, one, positive) for one in (first, second))
    whole = score(metric, truth, first, positive) - score(metric, truth, second, positive)
    found = [sign * (mine(rows) - other(rows)) for rows in _draws(first, seed, rounds)]
    return _of(found, sign * whole, len(truth))


def _scored(
    metric: Metric, truth: NDArray[np.generic], predictions: Predictions, positive: str | None
) -> Callable[[NDArray[np.intp]], float]:
    """The metric on rows at some positions. Names are numbered once: to compare text is most of the work."""
    if metric.name in RANKINGS:
        hit, chances = hits(truth, predictions, positive)
        return lambda rows: ranked(metric.name, hit[rows], chances[rows])
    if metric.name not in FORMULAS:
        return lambda rows: score(metric, truth[rows], predictions.take(rows), positive)
    import pandas as pd

    one, formula = positive_of(truth, predictions, positive), FORMULAS[metric.name]
    names = pd.Index(list(dict.fromkeys((*classes_of(truth, predictions), one))))
    true, said, place = (names.get_indexer(pd.Index(texts)) for texts in (truth, predictions.values, [one]))
    return lambda rows: float(formula(counts(true[rows], said[rows], len(names)), int(place[0])))


def _draws(predictions: Predictions, seed: int, rounds: int) -> list[NDArray[np.intp]]:
    """Rows of each resample; of many rows, fewer than there are."""
    random, size = np.random.default_rng(seed), len(predictions)
    some = min(size, MOST)
    rounds = min(rounds, max(LEAST, WORK // (some * max(1, len(predictions.classes)))))
    return [random.integers(0, size, some) for _ in range(rounds)]


def _of(found: list[float], whole: float, size: int) -> Interval:
    """The middle 95 %; of resamples smaller than the rows (m out of n), drawn in to `whole` by the root of m / n."""
    low, high = np.nanpercentile(found, [2.5, 97.5])
    share = np.sqrt(min(size, MOST) / size)
    return Interval(low=float(whole + share * (low - whole)), high=float(whole + share * (high - whole)))
