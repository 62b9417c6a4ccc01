"""The split that a task asks of the harness, and tasks that no split can follow."""

from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from palmette.automl.samples import SampleColumn, Samples
from palmette.automl.splitting.data_splits import split_request_of
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError

COLUMNS = {"y": "category", "size": "number", "day": "datetime", "year": "number", "patient": "category"}


def samples(**more: Any) -> Samples:
    facts = {"dtype": "float64", "missing": 0, "distinct": 9, "examples": ("2024",), "reading": {"form": "native"}}
    columns = tuple(SampleColumn(name=name, source=name, kind=kind, **facts) for name, kind in COLUMNS.items())
    return Samples(sources=("d.csv",), files=(), columns=columns, rows=100_000, **more)


@pytest.mark.parametrize(("task", "expected"), [
    ({}, {"target": "y", "problem": "classification", "test_share": 0.2, "most_rows": 0}),
    ({"budget": 1}, {"most_rows": 20_000}),
    ({"exclude": ("day",), "known_after": ("size",)}, {"hidden": ("size", "day")}),
    ({"include": ("size", "year")}, {"hidden": ("y", "day", "patient")}),
    ({"group_by": "patient", "seed": 3}, {"group": "patient", "seed": 3}),
    ({"time": "day", "split": {"test_from": "2024"}}, {"time": "day", "test_from": "2024", "by": ""}),
    ({"time": "day", "split": {"by": "time"}}, {"time": "day", "by": "time"}),
    ({"split": {"by": "column", "column": "patient"}}, {"column": "patient", "by": "column"}),
    ({"split": {"by": "time", "test_share": 0}}, {"time": "", "test_share": 0}),
    ({"problem": "clustering", "target": ""}, {"target": "", "problem": "clustering"}),
])  # fmt: skip
def test_the_split_follows_from_the_task(task: dict[str, Any], expected: dict[str, Any]) -> None:
    made = split_request_of(TaskSpec(**{"target": "y", "problem": "classification", "budget": 1e6, **task}), samples())
    assert {name: getattr(made, name) for name in expected} == expected


@pytest.mark.parametrize(("task", "code"), [
    ({"target": "z"}, "no-such-column"), ({"group_by": "z"}, "no-such-column"),
    ({"split": {"by": "column"}}, "no-such-column"),
])  # fmt: skip
def test_a_task_that_no_split_can_follow_is_refused(task: dict[str, Any], code: str) -> None:
    with pytest.raises(UserError) as caught:
        split_request_of(TaskSpec(**{"target": "y", "problem": "classification", **task}), samples())
    assert caught.value.code == code and caught.value.remedy


def test_rows_to_predict_must_lack_the_target() -> None:
    with pytest.raises(UserError, match="lack 'y'") as caught:
        split_request_of(TaskSpec(target="size", problem="regression"), samples(inference_rows=3, targets=("y",)))
    assert caught.value.code == "rows-lack-columns"


def test_rows_to_predict_must_have_every_predictor_that_is_used() -> None:
    given = samples(inference_rows=3, targets=("size", "patient", "y"))
    task = TaskSpec(target="y", problem="classification", exclude=("size",))
    with pytest.raises(UserError, match=r"the 3 rows to predict lack 'patient'.*--exclude patient") as caught:
        split_request_of(task, given)
    assert caught.value.code == "rows-lack-columns"
    assert split_request_of(task.model_copy(update={"known_after": ("patient",)}), given).target == "y"
    assert split_request_of(task.model_copy(update={"include": ("day",)}), given).target == "y"
