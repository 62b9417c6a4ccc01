"""Simple forecasts, means of several, and forecasts of logarithms or of what covariates known ahead leave."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from palmette.automl.learners.forecasting.series import Series

ALPHAS = np.linspace(0.05, 0.95, 19)
MOST_OF_THETA = 600  # last values that the theta method uses, if seasons are short
PENALTY = 1e-3  # of the squared effects of covariates, as a share of their variation


class ForecastByItself(BaseEstimator):
    """Forecasts each series from its own last values; there is nothing to fit."""

    lookback: Any  # last values that a forecast uses

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.horizon_ = horizon
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        return np.stack([self.forecast(one.values[-self.lookback :]) for one in contexts])

    def forecast(self, values: np.ndarray) -> np.ndarray:
        """Forecasts the values (horizon,) after the last ones (n,)."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class SeasonalNaive(ForecastByItself):
    """Repeats the mean or median of the last seasons."""

    season: int = 1  # steps of a season; 1 repeats the last value
    count: int = 1  # seasons in the mean
    median: bool = False  # whether to take the median, whose absolute error is smaller

    @property
    def lookback(self) -> int:
        return self.season * self.count

    def forecast(self, values: np.ndarray) -> np.ndarray:
        season = self.season if len(values) >= self.season else 1
        count = max(1, min(self.count, len(values) // season))
        average = np.median if self.median else np.mean
        return np.resize(average(values[-season * count :].reshape(count, season), axis=0), self.horizon_)


@dataclass(eq=False, repr=False)
class Theta(ForecastByItself):
    """The theta method: exponential smoothing with half of the linear trend, on seasonally adjusted values.

    Assimakopoulos and Nikolopoulos, International Journal of Forecasting 16, 2000.
    """

    season: int = 1  # steps of a season; 1 for none

    @property
    def lookback(self) -> int:
        return max(MOST_OF_THETA, 4 * self.season)

    def forecast(self, values: np.ndarray) -> np.ndarray:
        steps, seasonal = len(values) + np.arange(self.horizon_), None
        if self.season > 1 and len(values) >= 2 * self.season:
            seasonal = _seasonal(values, self.season)
            if (values > 0).all():
                seasonal = np.maximum(1 + seasonal / values.mean(), 0.1)
                values = values / np.resize(seasonal, len(values))
            else:
                values = values - np.resize(seasonal, len(values))
        made = _theta(values, self.horizon_)
        if seasonal is None:
            return made
        factors = seasonal[steps % self.season]
        return made * factors if seasonal.min() > 0 and abs(seasonal.mean() - 1) < 0.5 else made + factors


@dataclass(eq=False, repr=False)
class WeightedForecasts(BaseEstimator):
    """The weighted mean of several forecasts."""

    members: Sequence[tuple[str, Any]]  # forecasters with their names
    weights: Sequence[float]  # one for each member

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.fitted_ = [clone(one).fit(series, horizon) for _, one in self.members]
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        return np.average([one.predict(contexts) for one in self.fitted_], axis=0, weights=self.weights)


@dataclass(eq=False, repr=False)
class LogScale(BaseEstimator):
    """Forecasts the logarithm of positive values, which suits growth by a rate rather than by an amount."""

    estimator: Any

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.least_ = min(float(one.values.min()) for one in series) / 2
        self.estimator_ = clone(self.estimator).fit(self._logs(series), horizon)
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        highest = np.log([10 * one.values.max() for one in contexts])[:, None]
        return np.exp(np.minimum(self.estimator_.predict(self._logs(contexts)), highest))

    def _logs(self, series: Sequence[Series]) -> list[Series]:
        return [replace(one, values=np.log(np.maximum(one.values, self.least_))) for one in series]


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


def _seasonal(values: np.ndarray, season: int) -> np.ndarray:
    """Returns the seasonal deviations (season,) from a moving mean, starting at the first value."""
    weights = np.r_[0.5, np.ones(season - 1), 0.5] / season if season % 2 == 0 else np.ones(season) / season
    middle, half = np.convolve(values, weights, "valid"), len(weights) // 2
    rest, place = values[half : half + len(middle)] - middle, (half + np.arange(len(middle))) % season
    found = np.bincount(place, rest, season) / np.maximum(np.bincount(place, minlength=season), 1)
    return found - found.mean()


def _theta(values: np.ndarray, horizon: int) -> np.ndarray:
    count = len(values)
    slope = float(np.polyfit(np.arange(count), values, 1)[0]) if count > 2 else 0.0
    levels, errors = np.full(len(ALPHAS), values[0]), np.zeros(len(ALPHAS))
    for value in values[1:]:
        errors += (value - levels) ** 2
        levels += ALPHAS * (value - levels)
    best = int(errors.argmin())
    alpha = ALPHAS[best]
    return levels[best] + slope / 2 * (np.arange(horizon) + (1 - (1 - alpha) ** count) / alpha)
