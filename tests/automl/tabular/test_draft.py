"""A blueprint from the data alone: kinds from the columns, the target's scale from the metric, folds from the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_projects import guests

from palmette.automl.data.load import load
from palmette.automl.modalities.tabular import Blueprint, write_project
from palmette.automl.modalities.tabular.draft import Goal, class_names, draft, folds_for
from palmette.errors import UserError


def drafted(tmp_path: Path, table: pd.DataFrame, goal: Goal) -> Blueprint:
    table.to_csv(tmp_path / "rows.csv", index=False)
    loaded = load([tmp_path / "rows.csv"])
    return draft(goal, loaded.dataset.columns, loaded.table)


def test_columns_become_what_they_are(tmp_path: Path) -> None:
    table = guests("binary").assign(number=range(1, 241), planet="earth")
    table["remark"] = [f"{text} number {index} of a long evening" for index, text in enumerate(table["remark"])]
    blueprint = drafted(tmp_path, table, Goal("classification", "target", "f1", "good"))
    assert {column.name: column.kind for column in blueprint.columns} == {
        "Age (years)": "numeric",
        "City": "categorical",
        "joined": "datetime",
        "remark": "text",
        "member?": "boolean",
    }
    assert [one.name for one in blueprint.dropped] == ["number", "planet"]
    assert (blueprint.classes, blueprint.positive) == (("bad", "good"), "good")
    age, city = blueprint.columns[:2]
    assert "missing" in age.treatment and age.nullable
    assert city.categories == ("Oslo", "Paris", "Rome")
    assert write_project(blueprint)


@pytest.mark.parametrize(("metric", "transform"), [("rmse", "none"), ("rmsle", "log1p"), ("rmse_log", "log")])
def test_a_metric_of_logarithms_is_learnt_on_them(tmp_path: Path, metric: str, transform: str) -> None:
    table = guests("regression")
    blueprint = drafted(tmp_path, table, Goal("regression", "target", metric))
    assert blueprint.transform == transform
    assert blueprint.bounds is not None
    low, high = blueprint.bounds
    assert 0 <= low < table["target"].min() and table["target"].max() < high < 3 * table["target"].max()
    outputs = blueprint.restored(np.array([-100.0, 100.0]))
    assert outputs.tolist() == pytest.approx([low, high])


@pytest.mark.parametrize(("rows", "count"), [(100, 8), (5_000, 5), (40_000, 3)])
def test_more_folds_where_rows_are_few(tmp_path: Path, rows: int, count: int) -> None:
    table = pd.DataFrame({"x": np.arange(rows) % 97, "y": np.arange(rows) % 2})
    blueprint = drafted(tmp_path, table, Goal("classification", "y", "accuracy"))
    assert (blueprint.folds.count, blueprint.folds.kind) == (count, "stratified")
    assert blueprint.threads == (1 if rows < 3000 else 2)


@pytest.mark.parametrize(("work", "count"), [(100_000, 8), (1_000_000, 5), (5_000_000, 3)])
def test_fewer_folds_where_each_takes_long(work: int, count: int) -> None:
    assert folds_for(2_000, None, work).count == folds_for(2_000, 500, work).count == count


def test_a_class_is_in_no_more_folds_than_it_has_rows(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": np.arange(60) % 7, "y": ["rare"] * 3 + ["usual"] * 57})
    assert drafted(tmp_path, table, Goal("classification", "y", "accuracy")).folds.count == 3


def test_the_positive_class_goes_by_the_name_of_the_classes(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": np.arange(60) % 7, "y": [10.0, 2.0] * 30})
    blueprint = drafted(tmp_path, table, Goal("classification", "y", "accuracy", "2.0"))
    assert (blueprint.classes, blueprint.positive) == (("2", "10"), "2"), "in the order of their sizes"


def test_where_no_column_says_anything_the_reasons_are_told(tmp_path: Path) -> None:
    table = pd.DataFrame({"number": range(60), "planet": "earth", "y": [0, 1] * 30})
    with pytest.raises(UserError, match="'number' is another in every row, as a name is, 'planet' is the same"):
        drafted(tmp_path, table, Goal("classification", "y", "accuracy"))


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["1", "2.0"]])
def test_whole_numbers_are_one_class_however_they_are_written(values: list[object]) -> None:
    assert list(class_names(pd.Series(values))) == ["1", "2"]
