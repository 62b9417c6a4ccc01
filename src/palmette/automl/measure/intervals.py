"""Uncertainty of a measured score: bootstrap intervals over the rows, or over rows that belong together.

Rows of one group, or near one another in time, err alike: as if they were independent, intervals would be too narrow.
Such units are drawn whole (Field and Welsh, *Bootstrapping clustered data*, 2007; in time Carlstein, 1986). Resamples
of few units vary too little; intervals are widened to those of Student's t distribution (Cameron et al., 2008).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure.metrics import RANKINGS, Metric, Predictions, score
from palmette.documents import Model

MOST = 4_000  # rows of a resample at most: more cost time, and the width follows from fewer (Bickel et al., 1997)
SEED = 0
ROUNDS = 400  # resamples: the ends of a 95 % interval then vary by a few per cent of its width
QUICK = 100  # where many candidates are compared, and the ends need not be exact
WORK, LEAST = 10_000_000, 50
"""Rows times classes of all resamples together; beyond, there are fewer resamples, but not fewer than these."""

Units = NDArray[np.int64]


class ScoreInterval(Model):
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
    units: Units | None = None,
    rounds: int = ROUNDS,
) -> ScoreInterval:
    """The interval of one score; `truth` is (n,), as `units`, which are equal for rows that are drawn together."""
    scored = metric.prepared(truth, predictions, positive)
    draws = _draws(predictions, units, rounds).limited(metric, truth)
    found = [scored(rows) for rows in draws.rows]
    made = draws.interval(found, score(metric, truth, predictions, positive))
    lowest = min(0.0, *found) if metric.task == "classification" or not metric.greater_is_better else -math.inf
    highest = metric.perfect if metric.greater_is_better else math.inf
    return ScoreInterval(low=max(made.low, lowest), high=min(made.high, highest))


def difference(
    metric: Metric,
    truth: NDArray[np.generic],
    first: Predictions,
    second: Predictions,
    positive: str | None = None,
    *,
    units: Units | None = None,
    is_selection: bool = False,
) -> ScoreInterval:
    """The interval of how much better `first` is than `second` on the same rows; positive is better.

    They differ by no more than noise where it contains 0. A selection asks for the spread of the resamples alone: fewer
    of them, and not widened where there are few units.
    """
    sign = 1.0 if metric.greater_is_better else -1.0
    draws = _draws(first, units, QUICK if is_selection else ROUNDS)
    draws = draws._replace(units=0) if is_selection else draws.limited(metric, truth)
    mine, other = (metric.prepared(truth, one, positive) for one in (first, second))
    whole = score(metric, truth, first, positive) - score(metric, truth, second, positive)
    return draws.interval([sign * (mine(rows) - other(rows)) for rows in draws.rows], sign * whole)


def blocks(order: NDArray[np.generic]) -> Units:
    """Units of neighbouring rows in an order (n,), about as many units as each has rows."""
    count = len(order)
    return (np.argsort(np.argsort(order, kind="stable")) // math.ceil(math.sqrt(max(count, 1)))).astype(np.int64)


class _Draws(NamedTuple):
    """Resamples."""

    rows: list[NDArray[np.intp]]
    share: float  # share of the rows or units that one resample draws
    units: int = 0  # number of units that are drawn; 0 for rows

    def limited(self, metric: Metric, truth: NDArray[np.generic]) -> "_Draws":
        """With no more units than rows of the rarer of two classes: each ranking compares one of them with others."""
        counts = np.unique(truth, return_counts=True)[1]
        is_limited = metric.name in RANKINGS and len(counts) == 2
        return self._replace(units=min(self.units or len(truth), *counts.tolist())) if is_limited else self

    def interval(self, found: list[float], whole: float) -> ScoreInterval:
        """The middle 95 %; of resamples that are smaller (m out of n), drawn in to `whole` by the root of m / n."""
        from scipy.stats import norm, t

        if self.units == 1:
            return ScoreInterval(low=-math.inf, high=math.inf)
        low, high = np.nanpercentile(found, [2.5, 97.5])
        width = math.sqrt(self.share)
        if self.units:
            degrees = self.units - 1
            width *= math.sqrt(self.units / degrees) * t.ppf(0.975, degrees) / norm.ppf(0.975)
        return ScoreInterval(low=float(whole + width * (low - whole)), high=float(whole + width * (high - whole)))


def _draws(predictions: Predictions, units: Units | None, rounds: int) -> _Draws:
    """Rows of each resample; of many rows, fewer than there are. Of a single unit its rows are drawn."""
    random, size = np.random.default_rng(SEED), len(predictions)
    some = min(size, MOST)
    rounds = min(rounds, max(LEAST, WORK // (some * max(1, len(predictions.classes)))))
    known, counts = (None, ()) if units is None else np.unique(units, return_counts=True)
    if units is None or known is None or len(known) in (1, size):
        return _Draws([random.integers(0, size, some) for _ in range(rounds)], some / size)
    members = np.split(np.argsort(units, kind="stable"), np.cumsum(counts)[:-1])
    several = max(2, round(len(members) * some / size))
    picks = (random.integers(0, len(members), several) for _ in range(rounds))
    rows = [np.concatenate([members[one] for one in pick]) for pick in picks]
    return _Draws(rows, several / len(members), len(members))
