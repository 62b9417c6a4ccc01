"""Statistical models of single series, from statsforecast."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from statsforecast.models import AutoARIMA, AutoETS

from palmette.automl.learners.forecasting.simple import ForecastByItself

MOST_OF_STATISTICS = 500  # last values that a model is fitted to: more are slow and add little


@dataclass(eq=False, repr=False)
class Statistical(ForecastByItself):
    """Exponential smoothing or ARIMA, selected by an information criterion and fitted at each forecast's origin."""

    kind: str = "ets"  # `ets` or `arima`
    season: int = 1  # steps of a season; 1 for none

    @property
    def lookback(self) -> int:
        return max(MOST_OF_STATISTICS, 4 * self.season)

    def forecast(self, values: np.ndarray) -> np.ndarray:
        model: Any = (AutoETS if self.kind == "ets" else AutoARIMA)(season_length=self.season)
        return np.asarray(model.forecast(y=values, h=self.horizon_)["mean"])
