"""Learners of forecasts: each wraps an estimator of regular series in a `Forecaster`."""

from collections.abc import Mapping
from typing import Any, ClassVar

from palmette.automl.calls import Call
from palmette.automl.candidates import SeriesUse
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.learners.learner import ABSOLUTE, Learner, Measured, Range, Settings, TrainingSetup
from palmette.automl.weights import FOLDER, network_folder

HERE = "palmette.automl.learners.forecasting"
MOST_LAGS = 720
LEAST_LAGS = 2
SHARES = (1.0, 0.7, 0.5, 0.25, 0.125)  # lags of the averaged ridge regressions, as shares of the most lags
MOST_LEVEL = 60  # most last values whose mean is forecast
MOST_SEASON = 24  # steps of a season above which statistical models of it take too long
HOLIDAY_COUNTS = 3  # covariates that the holidays of a country make
MANY = 50  # number of series above which a model for each is worse than one for all
LOGARITHMS = Range.choice(False, True, default=False, note="of logarithms", searched=False)
TYPICAL = SeriesUse(targets=("y",), horizon=24, seasons=(24,), shortest=1000, context=720)


class _Forecast(Learner):
    problems = frozenset({"forecasting"})
    layout = "rows"
    path: ClassVar[str]
    regresses_covariates: ClassVar[bool] = True  # whether covariates known ahead enter by a regression

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        """Returns the arguments of the estimator of regular series."""
        raise NotImplementedError

    def starts(self, use: SeriesUse) -> Mapping[str, tuple[Settings, str]]:
        """Returns settings and reason of each starting point, by the suffix of its name."""
        return {"": ({}, self.description)}

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        use = setup.facts.series or TYPICAL
        made = Call(self.path, self.inner({**settings, "log": None}, use, setup.facts))
        count = len(use.known) + (HOLIDAY_COUNTS if use.holidays else 0)
        if count and self.regresses_covariates:
            made = Call(f"{HERE}.simple.WithCovariates", {"estimator": made, "count": count})
        if settings.get("log"):
            made = Call(f"{HERE}.simple.LogScale", {"estimator": made})
        names = ("targets", "time", "frequency", "series", "known", "past")
        given = {name: value for name in names if (value := getattr(use, name))}
        plain = {name: list(one) if isinstance(one, tuple) else one for name, one in given.items()}
        columns = Call(f"{HERE}.series.SeriesColumns", plain)
        found: dict[str, Any] = {"estimator": made, "columns": columns, "horizon": use.horizon}
        if use.holidays:
            found["holidays"] = Call(f"{HERE}.public_holidays.PublicHolidays", {"country": use.holidays})
        return Call(f"{HERE}.forecaster.Forecaster", found)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        use = facts.series or TYPICAL
        return tuple(
            DefaultConfig(f"{self.name}{f'-{ending}' if ending else ''}", settings, reason, self.rank + 10 * turn)
            for turn, (ending, (settings, reason)) in enumerate(self.starts(use).items())
        )

    def space(self, trial: Any, facts: DataFacts) -> Settings:
        """Searches nothing: few origins choose settings badly, and the mean of several forecasts has smaller errors."""
        return {}


class Naive(_Forecast):
    name = "naive"
    families = frozenset({"seasonal_naive", "last_value"})
    regresses_covariates = False
    description = "The last value, the last season, or the mean or median of the last ones, again."
    measured = Measured(0.02, 1e-7, kilobytes=4.0, milliseconds=5.0)
    rank = 1
    path = f"{HERE}.simple.SeasonalNaive"

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        given = {"season": int(settings.get("season") or 1), "count": int(settings.get("count") or 1)}
        median = {"median": True} if given["count"] > 1 and is_absolute(facts) else {}
        return {name: value for name, value in given.items() if value > 1} | median

    def starts(self, use: SeriesUse) -> Mapping[str, tuple[Settings, str]]:
        found: dict[str, tuple[Settings, str]] = {}
        for season in use.seasons:
            found[f"season-{season}"] = ({"season": season}, f"the last {season} steps again")
            if use.shortest >= 6 * season:
                mean = {"season": season, "count": 4}
                found[f"mean-{season}"] = (mean, f"the mean of the last 4 times {season} steps")
        found["last"] = ({}, "the last value again: nothing beats it where changes are random")
        level = {"count": min(MOST_LEVEL, max(use.shortest // 2, 2))}
        return {**found, "level": (level, "the mean of many last values, for series without trend and season")}

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"season": Range.whole(1, 10_000, 1), "count": Range.whole(1, 52, 1)}


class LinearForecast(_Forecast):
    name = "linear_forecast"
    families = frozenset({"linear_model", "ridge"})
    description = "The next values are weighted sums of the last ones: a mean of ridge regressions on several lags."
    measured = Measured(0.2, 6e-6, kilobytes=2_000.0, milliseconds=5.0)
    rank = 0
    path = f"{HERE}.ridges.LagRidges"

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        most = int(settings.get("lags") or lags_of(use))
        least = max(LEAST_LAGS, min(use.season, most))
        lags = sorted({max(least, round(share * most)) for share in SHARES}, reverse=True)
        return {"lags": lags, **({"own": True} if settings.get("own") else {})}

    def starts(self, use: SeriesUse) -> Mapping[str, tuple[Settings, str]]:
        count, most = use.count * len(use.targets), lags_of(use)
        found: dict[str, tuple[Settings, str]] = {"": ({}, "weights that all series share")}
        if 1 < count <= MANY:
            found["own"] = ({"own": True}, "weights of each series by itself")
        if most >= 8 * LEAST_LAGS:
            found["short"] = ({"lags": max(most // 4, 2 * LEAST_LAGS)}, "few lags, which suits what changes its ways")
        return found | _on_logarithms(use)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        most = max(lags_of(facts.series or TYPICAL), 2 * LEAST_LAGS)
        note = "the most lags; some shares of them are taken, too"
        return {
            "lags": Range.whole(LEAST_LAGS, most, note=note),
            "own": Range.choice(False, True, default=False, note="weights of each series by itself", searched=False),
            "log": LOGARITHMS,
        }


class LinearNetworks(_Forecast):
    name = "linear_network"
    track = "neural"
    families = frozenset({"neural_network", "deep_learning", "pytorch", "nlinear", "dlinear", "linear_networks"})
    requires = ("torch",)
    description = "A linear network of the last values: NLinear on changes, DLinear on trend and rest."
    measured = Measured(1.5, 2e-5, kilobytes=500.0, milliseconds=5.0)
    rank = 2.5
    path = f"{HERE}.linear_networks.LinearNetwork"

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        lags = int(settings.get("lags") or max(2 * LEAST_LAGS, lags_of(use) // 2))
        absolute = {"absolute": True} if is_absolute(facts) else {}
        return {"kind": settings.get("kind") or "nlinear", "lags": lags, **absolute}

    def starts(self, use: SeriesUse) -> Mapping[str, tuple[Settings, str]]:
        return {"": ({}, self.description), "trend": ({"kind": "dlinear"}, "with a layer for the trend")}

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        most = max(lags_of(facts.series or TYPICAL), 3 * LEAST_LAGS)
        kinds = Range.choice("nlinear", "dlinear", default="nlinear", note="DLinear learns the trend by itself")
        return {"kind": kinds, "lags": Range.whole(2 * LEAST_LAGS, most, note="last values that are taken")}


class Chronos(_Forecast):
    name = "chronos"
    track = "pretrained"
    families = frozenset({"foundation_model", "pretrained_forecast"})
    requires = ("torch", "chronos")
    description = "A network of the Chronos family in a folder of $PALMETTE_MODELS, trained on many other series."
    measured = Measured(5.0, 1e-3, kilobytes=4.0, milliseconds=200.0)
    rank = 0.5
    path = f"{HERE}.pretrained_forecast.ChronosForecast"

    @property
    def weights(self) -> tuple[str, ...]:
        found = network_folder("series", self.name)
        return (found.folder,) if found else ()

    def unavailable(self) -> str:
        lacking = f"{self.name} needs a folder with a network of its family in ${FOLDER}."
        return super().unavailable() or ("" if self.weights else lacking)

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        found = network_folder("series", self.name)
        return {"folder": found.folder, "sha256": found.sha256} if found else {}


class TimesFm(Chronos):
    name = "timesfm"
    requires = ("torch", "transformers")
    description = "A network of the TimesFM family in a folder of $PALMETTE_MODELS, trained on many other series."
    rank = 0.6
    path = f"{HERE}.pretrained_forecast.TimesFmForecast"


class Toto(Chronos):
    name = "toto"
    requires = ("torch", "safetensors")
    description = "A network of the Toto family in a folder of $PALMETTE_MODELS, trained on many other series."
    rank = 0.7
    path = f"{HERE}.toto.TotoForecast"


class ThetaMethod(_Forecast):
    name = "theta"
    families = frozenset({"statistical", "exponential_smoothing"})
    description = "Exponential smoothing with half of the trend, seasonally adjusted; strong for short series."
    measured = Measured(0.5, 2e-5, kilobytes=4.0, milliseconds=20.0)
    rank = 3
    path = f"{HERE}.simple.Theta"

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        season = int(settings.get("season") or use.season)
        return {"season": season} if season > 1 else {}

    def starts(self, use: SeriesUse) -> Mapping[str, tuple[Settings, str]]:
        return {**super().starts(use), **_on_logarithms(use)}

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"season": Range.whole(1, 10_000, (facts.series or TYPICAL).season), "log": LOGARITHMS}


class AutoETS(_Forecast):
    name = "auto_ets"
    families = frozenset({"statistical", "ets", "statsforecast"})
    requires = ("statsforecast",)
    description = "Exponential smoothing with the error, trend and season that an information criterion selects."
    measured = Measured(10.0, 2e-3, kilobytes=4.0, milliseconds=300.0)
    rank = 4
    path = f"{HERE}.statistical.Statistical"
    kind: ClassVar[str] = "ets"

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        season = use.season if use.season <= MOST_SEASON else 1
        return {"kind": self.kind, **({"season": season} if season > 1 else {})}


class AutoARIMA(AutoETS):
    name = "auto_arima"
    families = frozenset({"statistical", "arima", "statsforecast"})
    description = "ARIMA with the orders that an information criterion selects."
    measured = Measured(40.0, 1e-2, kilobytes=4.0, milliseconds=1_000.0)
    rank = 5
    kind = "arima"


class BoostedForecast(_Forecast):
    name = "boosted_forecast"
    families = frozenset({"lightgbm", "gradient_boosting", "mlforecast"})
    requires = ("lightgbm",)
    regresses_covariates = False
    description = "LightGBM on the last values, seasons, calendar and covariates; one model for all series and steps."
    measured = Measured(1.5, 2e-5, kilobytes=1_500.0, milliseconds=10.0)
    rank = 2
    path = f"{HERE}.boosted.BoostedLags"

    def inner(self, settings: Settings, use: SeriesUse, facts: DataFacts) -> dict[str, Any]:
        lags = int(settings.get("lags") or min(max(use.season, 12), 48, max(use.shortest // 4, 2)))
        seasons = [one for one in use.seasons if 2 * one < use.shortest]
        absolute = {"objective": "l1"} if is_absolute(facts) else {}
        kept = {name: settings[name] for name in ("rounds", "leaves", "rate") if settings.get(name)}
        return {"lags": lags, **({"seasons": seasons} if seasons else {}), **absolute, **kept}

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "lags": Range.whole(2, 96, note="last values that are features", log=True),
            "rounds": Range.whole(50, 600, 200, "trees", log=True),
            "leaves": Range.whole(4, 127, 31, "leaves of a tree", log=True),
            "rate": Range(0.01, 0.2, 0.05, "learning rate", log=True),
        }


def _on_logarithms(use: SeriesUse) -> dict[str, tuple[Settings, str]]:
    """Returns the starting point of positive series that grow by a rate."""
    return {"log": ({"log": True}, "of logarithms, where series grow by a rate")} if use.is_positive else {}


def is_absolute(facts: DataFacts) -> bool:
    """Returns whether the metric is of absolute errors, which medians make smallest."""
    return facts.metric in ABSOLUTE | {"mase", "wql"}


def lags_of(use: SeriesUse) -> int:
    """Returns the most lags that the shortest series allows."""
    return max(LEAST_LAGS, min(MOST_LAGS, (use.shortest - use.horizon) // 3))
