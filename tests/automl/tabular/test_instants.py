"""Dates and times of day: what is made of them, and that a project makes of its files what the run made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_projects import Project

from palmette.automl.data.load import load
from palmette.automl.modalities.tabular import write_project
from palmette.automl.modalities.tabular.draft import Goal, draft
from palmette.automl.modalities.tabular.instants import moved, parts_of, spans
from palmette.sandbox import Sandbox


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (pd.date_range("2020-01-01", periods=900, freq="D"), ("month", "day", "weekday", "days")),
        (pd.date_range("2020-01-01", periods=300, freq="D"), ("day", "weekday", "days")),
        (pd.date_range("2020-01-06", periods=600, freq="h"), ("weekday", "hour", "days")),
        (pd.date_range("2020-01-06", periods=90, freq="min"), ("days",)),
        (pd.date_range("1990-01-01", periods=30, freq="YS"), ("weekday", "days")),
        (pd.date_range("1990-01-01", periods=60, freq="MS"), ("month", "weekday", "days")),
    ],
    ids=["years", "months", "hours", "minutes", "yearly", "monthly"],
)
def test_parts_that_come_again_are_told_apart_from_what_only_goes_on(values: Any, parts: tuple[str, ...]) -> None:
    made = parts_of(pd.Series([*values, pd.NaT]))
    assert made.parts == parts and made.reason.count("come again") == (parts != ("days",))


@pytest.mark.parametrize(("slope", "kept"), [(0.0, False), (0.02, True)])
def test_where_later_rows_are_predicted_days_are_kept_if_the_target_moves_with_them(slope: float, kept: bool) -> None:
    times = pd.Series(pd.date_range("2020-01-01", periods=800, freq="D")).sample(frac=1, random_state=0)
    level = slope * np.argsort(np.argsort(times.to_numpy())) / 10 + np.random.default_rng(0).normal(size=800)
    for target in (pd.Series(level, times.index), pd.Series(np.where(level > level.mean(), "b", "a"), times.index)):
        made = parts_of(times, moved(times, target))
        assert ("days" in made.parts) == kept and f"target {'moves' if kept else 'does not move'}" in made.reason
    alone = parts_of(times.iloc[:1], 0.0)
    assert alone.parts == ("days",) and "moves" not in alone.reason, "something is left of every instant"


def test_an_instant_that_goes_along_with_the_time_is_treated_as_that_is(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    made = pd.Series(pd.date_range("2020-01-01", periods=600, freq="D"))
    lag, age = (pd.to_timedelta(random.integers(0, most, 600), unit="D") for most in (9, 9000))
    table = pd.DataFrame({"made": made, "sent": made + lag, "born": made[0] - age, "y": random.normal(size=600)})
    table.to_csv(tmp_path / "rows.csv", index=False)
    loaded = load([tmp_path / "rows.csv"])
    for time, kept in (("made", {"born"}), ("", {"made", "sent", "born"})):
        blueprint = draft(Goal("regression", "y", "rmse"), loaded.dataset.columns, loaded.table, time=time)
        assert {one.name for one in blueprint.columns if "days" in one.parts} == kept


def orders(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Late are orders that took long; days are written as in Germany, some are missing, hours as on a clock."""
    random = np.random.default_rng(seed)
    ordered = pd.Timestamp("2022-01-01") + pd.to_timedelta(random.integers(0, 1000, rows), unit="D")
    took, hour, minute = random.integers(0, 40, rows), random.integers(0, 24, rows), random.integers(0, 60, rows)
    table = pd.DataFrame(
        {
            "Bestellt am": ordered.strftime("%d.%m.%Y"),
            "shipped": (ordered + pd.to_timedelta(took, unit="D")).strftime("%d.%m.%Y"),
            "read": [f"{day}.11.2024" for day in random.integers(20, 22, rows)],
            "at": [f"{one:02}:{other:02}" for one, other in zip(hour, minute, strict=True)],
            "late": np.where(took > 20, "yes", "no"),
        }
    )
    table.loc[::9, ["shipped", "at"]] = None
    return table


def test_the_days_between_two_instants_are_a_feature_where_neither_says_them() -> None:
    table = orders()
    days = {name: pd.to_datetime(table[name], format="%d.%m.%Y") for name in ("Bestellt am", "shipped", "read")}
    rows = pd.DataFrame(days).assign(copy=days["shipped"], rarely=days["read"].where(table.index % 20 == 0))
    found = list(spans(list(rows), rows, ["days_shipped_to_copy"]))
    assert [one.columns for one in found] == [("Bestellt am", "shipped"), ("Bestellt am", "copy")]
    assert found[0].name == "days_Bestellt_am_to_shipped" and "mostly" in found[0].reason
    strange = rows[["Bestellt am", "shipped"]].set_axis(["начало", "конец"], axis=1)
    (one,) = spans(list(strange), strange, ["days_between"])
    assert one.name == "days_between_2"


PROBE = """
import json, contract, preprocess, serve
rows = preprocess.read("rows.csv")
contract.check_rows(rows)
features = preprocess.features(rows)
contract.check_features(features)
print(json.dumps(features.to_dict("list")))
def at(value):
    try:
        return serve.Row(at=value).at
    except ValueError:
        return "refused"
print(json.dumps([at(value) for value in ("13:45", "1:45 pm", "12:00 AM", 13.75, None, "noon")]))"""


def test_a_project_makes_of_dates_and_times_what_the_run_made(tmp_path: Path, sandbox: Sandbox) -> None:
    table = orders(60)
    table["owed"] = ["(5)", "7-", "\u22123", "12", "8"] * 12
    table.loc[[1, 4, 7, 8, 20, 40], "shipped"] = ["31.12.9999", "29.02.9996", "01.01.0001", *["31.12.9999"] * 3]
    table.loc[3, "owed"] = "1e400"
    table.to_csv(tmp_path / "rows.csv", index=False)
    loaded = load([tmp_path / "rows.csv"])
    at = loaded.dataset.column("at")
    assert at is not None and (at.kind, at.reading.form) == ("numeric", "clock")
    made = draft(Goal("classification", "late", "accuracy", "yes"), loaded.dataset.columns, loaded.table)
    made = made.model_copy(update={"columns": tuple(_read_as_in_the_file(one, loaded.dataset) for one in made.columns)})
    for file in write_project(made):
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_text(file.text, encoding="utf-8")
    text = (tmp_path / "preprocess.py").read_text("utf-8")
    assert "trees compare instants" in text and '"Bestellt am": ("month", "day", "weekday", "days")' in text
    done = Project(tmp_path, made, table, sandbox).run("-c", PROBE)
    assert done.ok, done.stderr
    told, asked = map(json.loads, done.stdout.splitlines())
    features = pd.DataFrame(told, dtype=float)
    due = loaded.table
    np.testing.assert_array_equal(features["at"], due["at"])
    assert due["shipped"].isna().sum() == 13 and list(due["owed"][:4].fillna(0)) == [-5, -7, -3, 0]
    np.testing.assert_array_equal(features["owed"], due["owed"])
    between = (due["shipped"] - due["Bestellt am"]) / pd.Timedelta(days=1)
    np.testing.assert_array_equal(features["days_Bestellt_am_to_shipped"], between)
    np.testing.assert_array_equal(features["Bestellt_am__month"], due["Bestellt am"].dt.month)
    assert asked == [13.75, 13.75, 0.0, 13.75, None, "refused"]


def _read_as_in_the_file(plan: Any, dataset: Any) -> Any:
    return plan.model_copy(update={"reading": dataset.column(plan.name).reading})


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["7:05", "23:30", "0:00"] * 8, [7 + 5 / 60, 23.5, 0.0]),
        (["7:05 PM", "12:15 a.m.", "?"] * 8, [19 + 5 / 60, 0.25, np.nan]),
        (["26:10:30", "1:00:00", "2:00:36"] * 8, [26.175, 1.0, 2.01]),
        (["16:9", "4:3", "21:9"] * 8, None),
        (["7:05", "late", "never"] * 8, None),
    ],
    ids=["clock", "halves", "durations", "ratios", "words"],
)
def test_times_of_day_are_numbers(texts: list[str], hours: list[float] | None, tmp_path: Path) -> None:
    rows = "".join(f"{text},{number}\n" for number, text in enumerate(texts))
    (tmp_path / "rows.csv").write_text(f"at,y\n{rows}", "utf-8")
    loaded = load([tmp_path / "rows.csv"])
    column = loaded.dataset.column("at")
    assert column is not None and (column.reading.form == "clock") == (hours is not None)
    if hours is not None:
        np.testing.assert_allclose(loaded.table["at"][:3], hours)
        assert column.kind == "numeric" and any(one.code == "time-as-text" for one in loaded.dataset.repairs)
