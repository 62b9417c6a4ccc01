"""Forecasters learn what a series shows, and tables of any form become forecasts with bands."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from palmette.automl.calls import build
from palmette.automl.candidates import SeriesUse
from palmette.automl.composition import learner_named
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.forecasting.forecaster import Forecaster
from palmette.automl.learners.forecasting.series import Series, SeriesColumns
from palmette.automl.learners.forecasting.simple import SeasonalNaive, Theta, WeightedForecasts
from palmette.automl.learners.learner import TrainingSetup
from palmette_bench.forecast_at_origin import last_rows

HORIZON = 12
LEARNERS = ("naive", "linear_forecast", "linear_network", "boosted_forecast", "theta")


def wave(count: int = 400, noise: float = 0.1, level: float = 5.0) -> np.ndarray:
    steps = np.arange(count)
    return level + np.sin(2 * np.pi * steps / 12) + np.random.default_rng(0).normal(0, noise, count)


def table(count: int = 400, **others: Any) -> pd.DataFrame:
    stamps = pd.date_range("2024-01-01", periods=count, freq="h")
    return pd.DataFrame({"time": stamps, "load": wave(count), **others})


def series(values: np.ndarray, key: str = "a", end: int | None = None) -> Series:
    end = len(values) if end is None else end
    return Series(key, values[:end], np.zeros((end + HORIZON, 0)), np.zeros((end, 0)))


def facts(**fields: Any) -> DataFacts:
    shown = {"targets": ("load",), "time": "time", "frequency": "h", "seasons": (12,), "shortest": 388}
    use = SeriesUse(**{**shown, "horizon": HORIZON, "is_positive": True, **fields})
    return DataFacts(400, 2, "forecasting", 1, 0, "mae", 3, ("number", "datetime"), series=use)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_starting_point_forecasts_a_wave(name: str) -> None:
    learner, rows = learner_named(name), table()
    for start in learner.portfolio(facts()):
        made = build(learner.estimator(start.settings, TrainingSetup(facts()))).fit(rows[:-HORIZON])
        assert repr(clone(made)) == repr(made)
        forecast = made.predict(rows[:-HORIZON])
        assert list(forecast["time"]) == list(rows["time"][-HORIZON:])
        error = np.abs(forecast["load"] - rows["load"][-HORIZON:].to_numpy()).mean()
        assert error < (2.0 if start.name.endswith(("last", "level")) else 0.3), start.name
        recent = made.predict(rows[-HORIZON - last_rows(made) : -HORIZON])
        assert np.allclose(recent["load"], forecast["load"], rtol=1e-3), "earlier rows do not matter"


@pytest.mark.parametrize("name", [one for one in LEARNERS if one != "naive"])
def test_what_is_known_ahead_changes_the_forecast(name: str) -> None:
    promotion = np.random.default_rng(1).random(400) < 0.2
    rows = table(promotion=np.where(promotion, "yes", "no"), load=wave() + 3.0 * promotion)
    made = build(learner_named(name).estimator({}, TrainingSetup(facts(known=("promotion",))))).fit(rows[:-HORIZON])
    forecast = made.predict(rows.assign(load=rows["load"].where(rows.index < 400 - HORIZON)))
    assert np.abs(forecast["load"] - rows["load"][-HORIZON:].to_numpy()).mean() < 0.4
    promoted = rows["promotion"][-HORIZON:].to_numpy() == "yes"
    assert forecast["load"][promoted].mean() - forecast["load"][~promoted].mean() > 2


@pytest.mark.parametrize("name", ["linear_forecast", "boosted_forecast"])
def test_public_holidays_change_the_forecast(name: str) -> None:
    pytest.importorskip("holidays", reason="holidays is not installed")
    from palmette.automl.learners.forecasting.public_holidays import PublicHolidays

    stamps = pd.date_range("2019-01-01", "2024-12-31", freq="D")
    closed = PublicHolidays("DE").counts(stamps)[:, 0]
    assert closed[-7:].tolist() == [1, 1, 0, 0, 0, 0, 0]  # Christmas
    rows = pd.DataFrame({"time": stamps, "load": wave(len(stamps)) - 4 * closed})
    setup = TrainingSetup(facts(holidays="DE", frequency="D", shortest=len(stamps)))
    made = build(learner_named(name).estimator({}, setup)).fit(rows[:-HORIZON]).predict(rows[:-HORIZON])
    assert np.abs(made["load"] - rows["load"][-HORIZON:].to_numpy()).mean() < 0.6


@pytest.mark.parametrize(("frequency", "day", "count"), [
    ("h", "2024-12-25 13:00", [1, 1, 0]), ("B", "2024-12-27", [0, 0, 1]), ("W-MON", "2024-12-23", [2, 1, 0]),
    ("MS", "2024-05-01", [3, 0, 1]), ("ME", "2024-05-31", [3, 0, 1]),
])  # fmt: skip
def test_holidays_of_a_step_and_of_its_neighbours(frequency: str, day: str, count: list[float]) -> None:
    pytest.importorskip("holidays", reason="holidays is not installed")
    from palmette.automl.learners.forecasting.public_holidays import PublicHolidays

    stamps = pd.date_range("2024-01-01", "2025-02-01", freq=frequency)
    counts = PublicHolidays("DE").counts(stamps)
    assert counts[stamps.get_loc(day)].tolist() == count and len(counts) == len(stamps)


def test_a_flat_series_beside_others_stays_flat() -> None:
    both = [series(wave(), "wave"), series(np.full(400, 3.0), "flat")]
    for name in ("linear_forecast", "linear_network", "boosted_forecast"):
        start = learner_named(name).estimator({}, TrainingSetup(facts()))
        inner = build(start.arguments["estimator"]).fit(both, HORIZON)
        assert np.abs(inner.predict(both)[1] - 3.0).max() < 0.5


def test_the_median_of_mostly_empty_steps_is_zero() -> None:
    rows = table(load=np.where(np.random.default_rng(0).random(400) < 0.2, 5.0, 0.0))
    for metric, level in (("mae", 0.0), ("mse", rows["load"][-60:].mean())):
        data = replace(facts(seasons=()), metric=metric)
        last, start = learner_named("naive").portfolio(data)
        assert not last.settings, "a baseline is never delivered, so the last value is a candidate, too"
        made = build(learner_named("naive").estimator(start.settings, TrainingSetup(data))).fit(rows)
        assert made.predict(rows)["load"].iloc[0] == pytest.approx(level)


def test_trees_learn_from_a_series_barely_longer_than_the_horizon() -> None:
    short = series(np.arange(36.0))
    whole = learner_named("boosted_forecast").estimator({}, TrainingSetup(facts(seasons=())))
    assert np.isfinite(build(whole.arguments["estimator"]).fit([short], 24).predict([short])).all()


def test_growth_by_a_rate_is_a_line_on_the_log_scale() -> None:
    steps, theta, made = np.arange(60 + HORIZON), learner_named("theta"), {}
    rows = pd.DataFrame({"load": 100 * 1.02**steps * (1 + 0.2 * np.sin(2 * np.pi * steps / 12))})
    data = facts(time="", frequency="1")
    for start in theta.portfolio(data):
        model = build(theta.estimator(start.settings, TrainingSetup(data))).fit(rows[:60])
        made[start.name] = np.abs(model.predict(rows[:60])["load"] - rows["load"][60:].to_numpy()).mean()
    assert made["theta-log"] < 0.8 * made["theta"], made
    assert [one.name for one in theta.portfolio(facts(is_positive=False))] == ["theta"], "of positive series only"


def test_weights_are_those_of_the_mean() -> None:
    members = [("last", SeasonalNaive()), ("season", SeasonalNaive(12))]
    made = WeightedForecasts(members, [3.0, 1.0]).fit([series(wave())], HORIZON).predict([series(wave())])
    last, season = (one.fit([], HORIZON).predict([series(wave())]) for _, one in members)
    assert np.allclose(made, 0.75 * last + 0.25 * season)


def forecaster(estimator: Any = None, quantiles: tuple[float, ...] = (), series: str = "") -> Forecaster:
    columns = SeriesColumns(["load"], "time", "h", series)
    return Forecaster(estimator or SeasonalNaive(12, 4), columns, HORIZON, quantiles)


def bands_of(errors: np.ndarray) -> np.ndarray:
    return forecaster(quantiles=(0.1, 0.9)).set_params(horizon=1)._quantiles_of(errors[:, None])[:, 0]


def test_bands_of_few_independent_errors_are_hardly_wider_than_they_promise() -> None:
    """Of 14 errors and a new one, 8 in 10 lie between the 1.5th and the 13.5th part of 15."""
    assert bands_of(np.random.default_rng(0).permutation(14) - 6.5) == pytest.approx([-6.0, 6.0], rel=0.1)


def test_a_drift_is_no_bias() -> None:
    """One drift makes overlapping forecasts err alike; the next one may go the other way."""
    low, high = bands_of(np.arange(14.0))
    assert low < -5 and high > 13


def test_bands_hold_about_what_they_promise() -> None:
    rows = table(1200)
    made = forecaster(quantiles=(0.1, 0.9)).fit(rows[:600])
    inside = []
    for end in range(600, 1180, HORIZON):
        found = made.predict(rows[:end])
        truth = rows["load"][end : end + HORIZON].to_numpy()
        inside.append((truth >= found["load_p10"]) & (truth <= found["load_p90"]))
    assert 0.7 < np.mean(inside) < 0.9


def test_dirty_rows_in_any_order_give_the_same_forecast() -> None:
    rows = table()
    made = forecaster().fit(rows)
    dirty = pd.concat([rows, rows.iloc[-3:]]).sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(made.predict(dirty), made.predict(rows))
    with pytest.raises(ValueError, match="No row has a value of load"):
        made.predict(rows.assign(load=np.nan))


def test_several_series_in_long_form_end_where_each_ends() -> None:
    rows = pd.concat([table(300).assign(shop="b"), table(400).assign(shop="a")], ignore_index=True)
    found = forecaster(series="shop", quantiles=(0.5,)).fit(rows).predict(rows)
    assert list(found["shop"]) == ["a"] * HORIZON + ["b"] * HORIZON
    assert (
        found["time"].iloc[0] == table(401)["time"].iloc[-1]
        and found["time"].iloc[HORIZON] == table(301)["time"].iloc[-1]
    )
    assert {"load", "load_p50"} <= {*found}


def test_what_is_known_ahead_is_used() -> None:
    promotion = (np.random.default_rng(1).random(412) < 0.2).astype(float)
    rows = table(412, promotion=promotion)
    rows["load"] += 10 * promotion
    ahead = rows.copy()
    ahead.loc[400:, "load"] = np.nan
    call = learner_named("boosted_forecast").estimator({}, TrainingSetup(facts(known=("promotion",))))
    made = build(call).fit(rows[:400]).predict(ahead)
    assert len(made) == HORIZON and np.abs(made["load"].to_numpy() - rows["load"][400:].to_numpy()).mean() < 2.5


def test_forecasts_of_what_is_never_negative_are_not() -> None:
    rows = table().assign(load=np.maximum(np.linspace(5, 0, 400), 0))
    assert (forecaster(estimator=Theta()).fit(rows).predict(rows)["load"] >= 0).all()
