"""Statistical models of single series, from statsforecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from statsforecast.models import AutoARIMA, AutoETS

from palmette.automl.learners.forecasting.series import Series

MOST_OF_STATISTICS = 500  # last values that a model is fitted to: more are slow and add little


@dataclass(eq=False, repr=False)
class Statistical(BaseEstimator):
    """Exponential smoothing or ARIMA, selected by an information criterion and fitted at each forecast's origin."""

    kind: str = "ets"  # `ets` or `arima`
    season: int = 1  # steps of a season; 1 for none

    @property
    def lookback(self) -> int:
        return max(MOST_OF_STATISTICS, 4 * self.season)

    def fit(self, series: Sequence[Series], horizon: int) -> Statistical:
        self.horizon_ = horizon
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        """Forecasts (n, horizon): the values after each context."""
        return np.stack([self._forecast(one.values[-self.lookback :]) for one in contexts])

    def _forecast(self, values: np.ndarray) -> np.ndarray:
        model: Any = (AutoETS if self.kind == "ets" else AutoARIMA)(season_length=self.season)
        return np.asarray(model.forecast(y=values, h=self.horizon_)["mean"])
