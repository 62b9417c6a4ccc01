"""Frequency, horizon and seasons are found in the data; dirty stamps are repaired and reported."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_packages import blueprint_of

from palmette.automl.candidates import SeriesUse
from palmette.automl.learners.forecasting.series import regular
from palmette.automl.problems.forecasting.data import read_use, repairs_of
from palmette.automl.problems.forecasting.problem import Forecasting
from palmette.automl.problems.forecasting.windows import (
    NEVER,
    HoldoutWindows,
    RowPositions,
    folds_of,
    held_out,
    stretches,
)
from palmette.automl.splitting.data_splits import DataSplits, SplitRequest
from palmette.automl.task_spec.spec import Forecast
from palmette.errors import PalmetteError, UserError


def use_of(rows: pd.DataFrame, time: str = "time", **wish: Any) -> SeriesUse:
    forecast = Forecast(targets=("load",), **wish)
    return read_use(rows, SplitRequest(problem="forecasting", time=time, forecast=forecast))


def hourly(count: int = 24 * 30, start: str = "2024-01-01", frequency: str = "h") -> pd.DataFrame:
    steps = np.arange(count)
    values = 50 + 10 * np.sin(2 * np.pi * steps / 24) + np.random.default_rng(0).normal(0, 1, count)
    return pd.DataFrame({"time": pd.date_range(start, periods=count, freq=frequency), "load": values})


@pytest.mark.parametrize("frequency", ["h", "15min", "D", "B", "W-TUE", "MS", "ME", "QS", "YS"])
def test_the_frequency_is_found(frequency: str) -> None:
    assert use_of(hourly(120, "2001-01-02", frequency), horizon="3").frequency.startswith(
        frequency[:2]
    )


@pytest.mark.parametrize(("text", "steps"), [
    ("", 24), ("36", 36), ("2 days", 48), ("24 hours", 24), ("1 week", 168), ("7 steps", 7),
    ("2 days, 48 steps", 48), ("5 business days", 168),
])  # fmt: skip
def test_a_horizon_is_steps_or_a_time(text: str, steps: int) -> None:
    use = use_of(hourly(), horizon=text)
    assert use.horizon == steps and use.season == 24


@pytest.mark.parametrize(("name", "apart", "text", "steps"), [
    ("year", 1, "11 years", 11), ("Survey_Years", 5, "10 years", 2), ("year", 1, "9 steps", 9),
    ("time", 0.25, "2 years", 8), ("time", 1 / 12, "6 months", 6),
])  # fmt: skip
def test_numbers_in_a_column_named_for_a_unit_count_it(name: str, apart: int, text: str, steps: int) -> None:
    rows = pd.DataFrame({name: 1900.0 + apart * np.arange(90), "load": np.arange(90.0)})
    assert use_of(rows, name, horizon=text).horizon == steps
    with pytest.raises(UserError, match="cannot be read"):
        use_of(rows, name, horizon="3 days" if apart >= 1 else "3 moons")


@pytest.mark.parametrize(("wish", "code"), [
    (dict(horizon="soon"), "bad-horizon"), (dict(horizon="0 hours"), "bad-horizon"),
    (dict(horizon="1 week, 7 steps"), "bad-horizon"),
    (dict(frequency="fortnightly"), "bad-frequency"),
    (dict(horizon="900"), "series-too-short"),
])  # fmt: skip
def test_what_cannot_be_is_refused(wish: dict[str, Any], code: str) -> None:
    with pytest.raises(UserError) as caught:
        use_of(hourly(), **wish)
    assert caught.value.code == code and caught.value.remedy


@pytest.mark.parametrize(("country", "installed", "code"), [
    ("Atlantis", True, "bad-holidays"), ("DE-BY", True, ""), ("DE", False, "missing-library"),
])  # fmt: skip
def test_holidays_need_a_country_and_a_package(
    country: str, installed: bool, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if installed:
        pytest.importorskip("holidays", reason="holidays is not installed")
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    wish = {"holidays": country}
    if not code:
        assert use_of(hourly(), **wish).holidays == country
        return
    with pytest.raises(PalmetteError) as caught:
        use_of(hourly(), **wish)
    assert caught.value.code == code and caught.value.remedy


def test_repeated_stamps_gaps_and_rows_without_a_stamp_are_repaired_and_reported() -> None:
    rows = hourly()
    dirty = pd.concat([rows.drop(index=[5, 6, 7]), rows.iloc[[10]].assign(load=0.0)]).sample(frac=1, random_state=0)
    dirty = pd.concat([dirty, pd.DataFrame({"time": [pd.NaT], "load": [1.0]})], ignore_index=True)
    use = use_of(dirty, horizon="24")
    first, second, third = repairs_of(dirty, use)
    assert first.startswith("1 row without") and second.startswith("1 row with a repeated")
    assert third.startswith("3 steps without")
    table = regular(dirty, "time", use.frequency)
    assert len(table) == len(rows) and table["load"].isna().sum() == 3
    assert table["load"].iloc[10] == pytest.approx(rows["load"].iloc[10] / 2)
    assert regular(dirty.assign(time=pd.NaT), "time", "h").empty


def test_rows_of_several_series_are_no_single_series() -> None:
    rows = pd.concat([hourly(200).assign(shop=name, open=1) for name in ("north", "south", "west")])
    with pytest.raises(UserError, match="--series shop") as caught:
        use_of(rows, horizon="5")
    assert caught.value.code == "repeated-times"
    assert use_of(rows, series="shop", horizon="5").count == 3
    assert use_of(rows.drop(columns="shop"), horizon="5").count == 1, "their mean"


def test_stamps_beside_the_grid_go_to_the_nearest_step() -> None:
    rows = hourly()
    rows.loc[50, "time"] += pd.Timedelta("7min")
    table = regular(rows, "time", "h")
    assert len(table) == len(rows) and table["load"].notna().all() and table.index[0] == rows["time"][0]
    rows = hourly(300, frequency="D")
    rows["time"] += pd.to_timedelta(np.random.default_rng(0).integers(-900, 900, 300), unit="s")
    use = use_of(rows, horizon="5")
    table = regular(rows, "time", use.frequency)
    assert use.frequency == "D" and len(table) == 300 and table["load"].notna().all()


def test_numbered_steps_and_rows_without_times_are_series_too() -> None:
    rows = hourly().assign(time=np.arange(24 * 30) * 2.0)
    use = use_of(rows, horizon="5")
    assert use.frequency == "2" and use.context == len(rows) and use.season == 24
    assert use_of(rows[["load"]], "", horizon="5").context == len(rows)


def test_folds_are_whole_horizons_before_the_hold_out() -> None:
    rows = hourly()
    use = use_of(rows, horizon="24")
    places = RowPositions.of(rows, use)
    held = held_out(places, use, 0.2)
    assert held.sum() % 24 == 0 and held[-held.sum() :].all()
    folds = folds_of(places, use, 3)
    assert set(folds) == {NEVER, 0, 1, 2} and (folds[: len(folds) // 2 - 1] == NEVER).all()
    assert all((folds == fold).sum() % 24 == 0 for fold in range(3))


def test_short_series_are_learnt_from_only() -> None:
    rows = pd.concat([hourly(100).assign(id="long"), hourly(20).assign(id="short")], ignore_index=True)
    use = use_of(rows, series="id", horizon="24")
    held = held_out(RowPositions.of(rows, use), use, 0.2)
    assert held[rows["id"] == "long"].sum() == 24 and not held[rows["id"] == "short"].any()


def test_stretches_never_reach_the_beginning() -> None:
    for length in range(10, 200, 7):
        assert all(start >= 2 or end == 0 for start, end in stretches(length, 8, 3))


def test_covariates_that_are_known_afterwards_end_at_the_origin() -> None:
    rows = hourly().assign(heat=1.0, wind=2.0, holiday=0.0)
    found = use_of(rows, horizon="24")
    use = found.model_copy(update={"known": ("holiday",), "past": ("heat", "wind")})
    (asked,) = HoldoutWindows(rows.iloc[:-24], rows.iloc[-24:], use).model_inputs()
    assert asked[["load", "heat", "wind"]].tail(24).isna().all(axis=None)
    assert asked.head(-24).notna().all(axis=None) and asked["holiday"].notna().all()


def test_errors_have_one_scale_on_training_rows_and_on_the_holdout() -> None:
    rows = hourly(200)
    use = use_of(rows, horizon="10")
    blueprint = blueprint_of("forecasting", series=use, metric="mase")
    splits = DataSplits(rows[:180].sample(frac=1, random_state=0).reset_index(drop=True), rows[180:], None)
    scorer, windows = Forecasting(blueprint).scorer(splits), HoldoutWindows(splits.train, splits.holdout, use)
    forecasts = np.zeros((180, 1))
    unscaled = Forecasting(blueprint.model_copy(update={"metric": "mae"})).scorer(splits)
    assert unscaled.score(forecasts) / scorer.score(forecasts) == pytest.approx(windows.scales[0])
