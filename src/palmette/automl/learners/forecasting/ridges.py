"""Linear forecasts: ridge regressions from the last values of a series to the next ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from palmette.automl.learners.forecasting.series import Series, scales_of

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
VALID = 0.2  # share of the windows, the latest ones, that choose the penalty


@dataclass(eq=False, repr=False)
class LagRidges(BaseEstimator):
    """Averages ridge regressions, one for each number of lags, on values relative to the last one."""

    lags: Sequence[int] = (24, 48, 96)  # last values that each regression takes
    own: bool = False  # whether each series has its own regressions; else all series share them, each on its scale
    most: int = 20_000  # most windows that a regression is fitted to

    @property
    def lookback(self) -> int:
        return max(self.lags)

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.horizon_, self.scales_ = horizon, scales_of(series)
        groups: dict[str, list[Series]] = {}
        for one in series:
            groups.setdefault(one.key if self.own else "", []).append(one)
        self.weights_ = {key: [self._fitted(some, lags) for lags in self.lags] for key, some in groups.items()}
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        made = np.empty((len(contexts), self.horizon_))
        keys = np.array([one.key if self.own else "" for one in contexts])
        for key in np.unique(keys):
            here = np.flatnonzero(keys == key)
            recent = np.stack([last_values(contexts[place].values, self.lookback) for place in here.tolist()])
            last = recent[:, -1:]
            made[here] = last + np.mean([(recent[:, -len(one) :] - last) @ one for one in self.weights_[key]], axis=0)
        return made

    def _fitted(self, series: Sequence[Series], lags: int) -> np.ndarray:
        """Returns weights (lags, horizon)."""
        x, y = windows_of(series, lags, self.horizon_, self.most, self.scales_)
        if not len(x):
            return np.zeros((lags, self.horizon_))
        cut = max(1, round((1 - VALID) * len(x)))
        errors = {one: float(np.mean((x[cut:] @ weights - y[cut:]) ** 2)) for one, weights in _ridges(x[:cut], y[:cut])}
        best = min(errors, key=lambda one: errors[one]) if cut < len(x) else PENALTIES[-1]
        return next(_ridges(x, y, (best,)))[1]


def last_values(values: np.ndarray, count: int) -> np.ndarray:
    """Returns the last values (count,); a shorter series is padded with its first value."""
    return np.pad(values[-count:], (max(0, count - len(values)), 0), mode="edge")


def windows_of(
    series: Sequence[Series], lags: int, horizon: int, most: int, scales: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns lags (n, lags) and next values (n, horizon), by time, relative to the last lag and in units of scale."""
    counts = [len(one.values) - lags - horizon + 1 for one in series]
    stride = max(1, -(-sum(max(count, 0) for count in counts) // most))
    parts, when = [], []
    for one, count in zip(series, counts, strict=True):
        if count > 0:
            view = np.lib.stride_tricks.sliding_window_view(one.values / scales[one.key], lags + horizon)
            starts = np.arange((count - 1) % stride, count, stride)
            parts.append(view[starts].astype(np.float32))
            when.append(starts - count)
    if not parts:
        return np.zeros((0, lags), np.float32), np.zeros((0, horizon), np.float32)
    whole = np.concatenate(parts)[np.argsort(np.concatenate(when), kind="stable")]
    whole -= whole[:, lags - 1 : lags].copy()
    return whole[:, :lags], whole[:, lags:]


def _ridges(x: np.ndarray, y: np.ndarray, penalties: Sequence[float] = PENALTIES) -> Iterator[tuple[float, np.ndarray]]:
    """Yields the weights (lags, horizon) for each penalty."""
    square, product = (x.T @ x).astype(float), (x.T @ y).astype(float)
    size = float(np.trace(square)) / max(x.size, 1) + 1e-12
    for one in penalties:
        yield one, np.linalg.solve(square + one * size * np.eye(len(square)), product)
