"""A task as flags, a file and a Python call write it."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from pydantic import ValidationError
from sentence_cases import flat

from palmette.automl.arguments import RUN_OPTIONS, arguments_of, title_of
from palmette.automl.task_spec.spec import Forecast, TaskSpec, parse_seconds
from palmette.automl.task_spec.task_file import TaskFile, parse_constraint, parse_split, task_of
from palmette.cli.automl import OPTIONS, TRACKS, automl
from palmette.cli.formats import schema
from palmette.documents import parse_document
from palmette.errors import InputError

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "task.md"
FILE = """
sentence: Predict churn
data: customers.csv
target: churn
metric: macro F1
positive: yes
exclude: [id, zip]
split: time, 30%
constraints: ["latency <= 20ms", "accuracy >= 90%", "size<=5MB", "parameters<=1e6"]
learners: [lightgbm, "-xgboost", "not:svm", "first:CatBoost"]
prefer: explainable
clusters: 3-6
budget: 5min
"""


def test_a_file_is_a_partial_task() -> None:
    task = task_of(parse_document(FILE, TaskFile, "task.yaml"), "file")
    assert flat(task) == {
        "data": ["customers.csv"], "target": "churn", "metric": "f1_macro", "positive": "yes", "exclude": ["id", "zip"],
        "split.by": "time", "split.test_share": 0.3,
        "constraints": ["latency <= 0.02", "accuracy >= 0.9", "size <= 5e+06", "parameters <= 1e+06"],
        "learners": ["lightgbm (required)", "xgboost (forbidden)", "svm (forbidden)", "catboost (preferred)"],
        "prefer": ["explainable"], "clusters.least": 3, "clusters.most": 6, "budget": 300.0,
    }  # fmt: skip
    assert task.sentence == "Predict churn" and {source.origin for source in task.sources.values()} == {"file"}


@pytest.mark.parametrize(("text", "line", "message"), [
    ("target: a\nmetrik: f1\n", 2, "metrik"),
    ("constraints: [latency<=20 parsecs]\n", 1, "latency<=20ms"),
    ("constraints: [velocity<=20ms]\n", 1, "not a metric"),
    ("constraints: [rmse>=3]\n", 1, "better when lower"),
    ("metric: fluency\n", 1, "not a metric"),
    ("problem: object_detection\n", 1, "not supported"),
    ("clusters: many\n", 1, "4 or 3-6"),
    ("budget: soon\n", 1, "5min"),
    ("prefer: [beauty]\n", 1, "explainable"),
    ("threshold: price\n", 1, "price>5000"),
    ("split: folds:1\n", 1, "'folds:1' is not a number of folds from 2 to 20"),
])  # fmt: skip
def test_a_mistake_in_a_file_has_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_document(text, TaskFile, "task.yaml")
    (problem,) = caught.value.problems
    assert problem.line == line and message in str(problem)


@pytest.mark.parametrize(("text", "constraint"), [
    ("latency<=20ms", "latency <= 0.02"), ("Latency < 0.5 s", "latency < 0.5"), ("batch-time<=2s", "batch_time <= 2"),
    ("training time <= 1.5 min", "training_time <= 90"), ("size<=500kB", "size <= 500000"),
    ("ROC-AUC>80%", "roc_auc > 0.8"), ("accuracy>=90", "accuracy >= 0.9"), ("rmse<=3", "rmse <= 3"),
    ("mape<=12%", "mape <= 0.12"), ("r2≥0.9", "r2 >= 0.9"),
])  # fmt: skip
def test_a_limit_in_short(text: str, constraint: str) -> None:
    made = parse_constraint(text)
    assert str(made) == constraint and made.words == text


@pytest.mark.parametrize("text", [
    "latency>=20ms", "latency<=20", "latency<=20MB", "size<=5", "accuracy<=0.9", "accuracy>=120", "mape<=12", "latency",
    "<=3",
])  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write for example|is not a limit on"):
        parse_constraint(text)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), (5, 5), ("2m", 120), ("1h", 3600), ("1.5 min", 90)])
def test_a_time(text: Any, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(("text", "split"), [
    ("0.3", {"test_share": 0.3}), ("folds:5", {"folds": 5}), ("5-fold, stratified", {"folds": 5, "by": "stratified"}),
    ("P3M", {"by": "time", "test_from": "P3M"}), ("column:part", {"by": "column", "column": "part"}),
    ("0", {"test_share": 0.0}),
])  # fmt: skip
def test_a_split_in_short(text: str, split: dict[str, Any]) -> None:
    assert parse_split(text) == split
    assert task_of(TaskFile(split=text), "flag").split.model_dump(exclude_unset=True) == split


def test_every_field_can_be_given_and_is_documented() -> None:
    """A file, a flag and a Python call give the same fields; the page and the schema describe them all."""
    derived = {"sources", "unread", "unmet"}
    nested = set(Forecast.model_fields) - {"targets"}
    assert set(TaskFile.model_fields) == set(TaskSpec.model_fields) - derived - {"forecast"} | nested
    flags = {option.name for option in automl.params} - {"as_json", "request", "holdout", "task", "dry_run", "approve"}
    assert flags - set(RUN_OPTIONS) == set(TaskFile.model_fields) - {"sentence"}
    page = DOCS.read_text("utf-8")
    assert [name for name in TaskFile.model_fields if not re.search(rf"^- [^:]*`{name}`", page, re.M)] == []
    flags = {flag for option in automl.params for flag in option.opts if flag.startswith("--")}
    named_by_fields = {f"--{name.replace('_', '-')}" for name in TaskFile.model_fields}
    assert sorted(flag for flag in flags - named_by_fields if f"`{flag}" not in page) == []
    assert len(OPTIONS) > 30


def test_the_tracks_of_the_command_are_those_of_the_environment() -> None:
    from typing import get_args

    from palmette.automl.kinds import Track

    assert get_args(Track) == TRACKS


def test_the_schema_takes_the_file(tmp_path: Path) -> None:
    published = json.loads(CliRunner().invoke(schema, ["task"]).output)
    jsonschema.Draft202012Validator.check_schema(published)
    assert set(published["properties"]) == set(TaskFile.model_fields)
    validator = jsonschema.Draft202012Validator(published)
    validator.validate(
        {"target": "y", "exclude": "a", "constraints": ["latency<=20ms"], "budget": "5min", "positive": 1}
    )
    assert not validator.is_valid({"metrik": "f1"})


def test_arguments_are_flags_of_the_task_and_options_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = arguments_of(
        "Predict y", ["a.csv", "sklearn:iris", " "], target="y", exclude=("a",), constraints=(), metric=None,
        model="m:n", holdout=0.3, split="time", out=Path("b"), task="t.yaml", approve=("plan",), dry_run=True,
    )  # fmt: skip
    assert made == {
        "request": "Predict y", "task": str(tmp_path / "t.yaml"), "approve": ["guideline_writer"], "model": "m:n",
        "topology": "dry_run",
        "flags": {"target": "y", "exclude": ["a"], "split": "time,0.3", "out": str(tmp_path / "b"),
        "data": [str(tmp_path / "a.csv"), "sklearn:iris", " "]},
    }  # fmt: skip
    task = task_of(TaskFile.model_validate(made["flags"]), "flag")
    assert task.sources["target"].words == "--target y" and task.sources["split.by"].words == "--split time,0.3"


def test_an_empty_value_is_not_given() -> None:
    assert task_of(TaskFile(target="", exclude=(), clusters="", metric="", ensemble=None), "flag").sources == {}
    with pytest.raises(ValidationError):
        TaskFile.model_validate({"plans": 0})


def test_a_run_is_named_for_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert title_of(["."]) == title_of([tmp_path]) == tmp_path.name
    assert [title_of([one]) for one in ("a/house.csv", "sklearn:iris", None)] == ["house", "sklearn-iris", ""]
