"""Covariates that are known ahead, for methods that forecast a series from its own values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from palmette.automl.learners.forecasting.series import Series

PENALTY = 1e-3  # of the squared effects, as a share of the covariates' variation


@dataclass(eq=False, repr=False)
class WithCovariates(BaseEstimator):
    """Forecasts what a linear regression on the covariates leaves of a series, and adds their effects ahead.

    The regression is of changes on changes, so that neither level nor trend of a series disturbs it.
    """

    estimator: Any  # forecasts series from their values
    count: int  # covariates: the last columns of `Series.known`

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.horizon_ = horizon
        self.effects_ = {one.key: self._effects_in(one) for one in series}
        self.estimator_ = clone(self.estimator).fit([self._rest(one) for one in series], horizon)
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        """Forecasts (n, horizon): the values after each context."""
        ahead = [one.known[-self.horizon_ :, -self.count :] @ self._effects(one) for one in contexts]
        return np.asarray(self.estimator_.predict([self._rest(one) for one in contexts])) + np.stack(ahead)

    def _rest(self, one: Series) -> Series:
        return replace(one, values=one.values - one.known[: len(one.values), -self.count :] @ self._effects(one))

    def _effects(self, one: Series) -> np.ndarray:
        """Returns the effect of a unit of each covariate (count,); the mean one in a series that is new."""
        return self.effects_[one.key] if one.key in self.effects_ else np.mean([*self.effects_.values()], axis=0)

    def _effects_in(self, one: Series) -> np.ndarray:
        changes = np.diff(one.known[: len(one.values), -self.count :], axis=0)
        square = changes.T @ changes
        penalty = PENALTY * np.diag(square).max(initial=0.0) + 1e-12
        return np.linalg.solve(square + penalty * np.eye(self.count), changes.T @ np.diff(one.values))
