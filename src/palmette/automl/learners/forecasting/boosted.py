"""Boosted trees on the last values of a series, its calendar and covariates: one model for all steps ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator

from palmette.automl.learners.forecasting.ridges import last_values
from palmette.automl.learners.forecasting.series import Series, scales_of

MEANS = (3, 7, 24, 96)  # numbers of last values whose means are features


@dataclass(eq=False, repr=False)
class BoostedLags(BaseEstimator):
    """Predicts the change from the last value, in units of the series' scale."""

    lags: int = 24  # last values that are features
    seasons: Sequence[int] = ()  # steps of each season; the value one season before the step is a feature
    objective: str = "l2"  # objective of LightGBM: `l2`, or `l1` for the median
    rounds: int = 200  # trees
    leaves: int = 31  # leaves per tree
    rate: float = 0.05  # learning rate
    most: int = 100_000  # most rows to learn from; a row is one window and one step ahead

    @property
    def lookback(self) -> int:
        return max(self.lags, *self.seasons, *MEANS)

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.horizon_, self.scales_ = horizon, scales_of(series)
        self.codes_ = {key: code for code, key in enumerate(sorted(self.scales_))}
        contexts, targets = self._windows(series)
        rows = np.arange(len(contexts) * horizon)
        if len(rows) > self.most:
            rows = np.sort(np.random.default_rng(0).choice(rows, self.most, replace=False))
        self.model_ = LGBMRegressor(
            n_estimators=self.rounds, num_leaves=self.leaves, learning_rate=self.rate, objective=self.objective,
            subsample=0.8, subsample_freq=1, colsample_bytree=0.8, min_child_samples=20, random_state=0, n_jobs=1,
            verbose=-1,
        )  # fmt: skip
        self.model_.fit(self._features(contexts)[rows], targets.ravel()[rows])
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        last = np.array([one.values[-1] for one in contexts])
        scales = np.array([self._scale(one) for one in contexts])
        changes = np.asarray(self.model_.predict(self._features(contexts))).reshape(len(contexts), self.horizon_)
        return last[:, None] + scales[:, None] * changes

    def _scale(self, one: Series) -> float:
        return self.scales_.get(one.key) or float(np.std(one.values)) or 1.0

    def _windows(self, series: Sequence[Series]) -> tuple[list[Series], np.ndarray]:
        """Returns contexts and the changes after each (n, horizon)."""
        lengths = [len(one.values) for one in series]
        least = min(self.lookback, min(lengths) // 2, max(lengths) - self.horizon_)
        wanted = 2 * self.most / self.horizon_
        total = sum(max(len(one.values) - least - self.horizon_ + 1, 0) for one in series)
        stride = max(1, int(total / wanted))
        contexts, targets = [], []
        for one in series:
            for end in range(max(least, 1), len(one.values) - self.horizon_ + 1, stride):
                contexts.append(one.until(end, self.horizon_))
                ahead = one.values[end : end + self.horizon_]
                targets.append((ahead - one.values[end - 1]) / self._scale(one))
        return contexts, np.array(targets)

    def _features(self, contexts: Sequence[Series]) -> np.ndarray:
        """Returns features (n * horizon, features): a row for each context and step ahead."""
        horizon, scales = self.horizon_, np.array([self._scale(one) for one in contexts])[:, None]
        recent = np.stack([last_values(one.values, self.lookback) for one in contexts])
        last = recent[:, -1:]
        means = [recent[:, -count:].mean(axis=1, keepdims=True) for count in (*MEANS, *self.seasons)]
        window = np.hstack([(np.hstack([recent[:, -self.lags :], *means]) - last) / scales, last / scales])
        codes = np.array([self.codes_.get(one.key, -1) for one in contexts], float)[:, None]
        past = np.stack([one.past[-1] if len(one.past) else np.zeros(one.past.shape[1]) for one in contexts])
        whole = np.repeat(np.hstack([window, codes, past]), horizon, axis=0)
        steps = np.arange(horizon)
        seasonal = [(recent[:, steps % season - season] - last) / scales for season in self.seasons]
        known = np.concatenate([one.known[-horizon:] for one in contexts])
        ahead = [np.tile(steps, len(contexts)), *(one.ravel() for one in seasonal)]
        return np.column_stack([whole, *ahead, known]).astype(np.float32)
