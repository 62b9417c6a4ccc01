"""The hold-out of series."""

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - comes with pandas

from palmette.automl.kinds import Kind  # noqa: E402 - as above
from palmette.automl.splitting.data_splits import SplitRequest  # noqa: E402 - as above
from palmette.automl.splitting.split import split  # noqa: E402 - as above
from palmette.automl.task_spec.spec import Forecast  # noqa: E402 - as above


def test_a_series_begins_with_its_first_target() -> None:
    """What was measured before it, or in gaps after it, does not matter."""
    days = pd.date_range("2024-01-01", periods=60)
    table = pd.DataFrame({"day": [*days, *days], "shop": ["a"] * 60 + ["b"] * 60, "sold": 1.0, "rain": 2.0})
    table.loc[[*range(20), 30, 60], "sold"] = np.nan
    forecast = Forecast(targets=("sold",), series="shop", horizon="5")
    kinds: dict[str, Kind] = {"day": "datetime", "shop": "category", "sold": "number", "rain": "number"}
    made = split(table, SplitRequest(problem="forecasting", time="day", forecast=forecast), kinds)
    assert sorted([*made.train, *made.holdout]) == [*range(20, 60), *range(61, 120)]
    assert "21 rows before the first value of 'sold' are in neither part." in made.facts.reasons
