"""Target, problem, metric and split are decided by the data where nobody gave them; contradictions are refused."""

from typing import Any

import pytest
from sentence_cases import load, table

from palmette.automl.task_spec.completion import Learners, OpenTarget, chosen_target, completed, resolved
from palmette.automl.task_spec.request import ColumnSummary, DataSummary
from palmette.automl.task_spec.sentence import read_sentence
from palmette.automl.task_spec.spec import Forecast, TaskSpec, merged
from palmette.automl.task_spec.task_file import TaskFile, task_of
from palmette.errors import UserError

TABLES = load("sentences")[1] | {
    "marks": table({
        "pupil": "identifier 90: a", "mark": "number 6: 1, 2", "points": "number 80: 3.5", "label": "category 2: a, b",
    }),
    "sensors": table({
        "at": "datetime 900: 2024-01-01", "read": "datetime 300: 2024-01-02", "heat": "number 90: 1.5",
        "ok": "boolean 2: 0, 1",
    }),
    "spots": table({"year": "number 900: 1700", "spots": "number 90: 5"}).model_copy(update={"rows": 900}),
    "months": table({"year": "number 80: 1700", "month": "number 12: 1"}).model_copy(update={"rows": 900}),
    "cards": DataSummary(columns=(
        ColumnSummary(name="image", kind="image"),
        ColumnSummary(name="card", kind="number", distinct=53, examples=("0", "7"), codes="each belongs to one name"),
    )),
    "graph": table({"id": "node 90: a", "to": "edges 90: b", "size": "number 90: 1", "area": "category 3: x"}),
    "same": table({"one": "constant 1: 1", "id": "identifier 90: 1", "photo": "image 90: a.jpg", "y": "number 90: 1"}),
}  # fmt: skip


def task(name: str, text: str = "", **fields: Any) -> TaskSpec:
    """The completed task of flags and a sentence."""
    data = TABLES[name]
    reading = read_sentence(text, data)
    given = resolved(merged(task_of(TaskFile.model_validate(fields), "flag"), reading.task), data)
    chosen = chosen_target(given, data, reading.candidates)
    assert isinstance(chosen, TaskSpec), chosen
    return completed(
        chosen, data, lambda *_: Learners(("linear",), frozenset({"linear"}), {"linear": "", "svm": " svm needs air."})
    )


@pytest.mark.parametrize(("name", "fields", "target", "problem"), [
    ("customers", {"target": "churn"}, "Churn", "classification"),
    ("customers", {"target": "tenure"}, "tenure", "regression"),
    ("customers", {"target": "Contract"}, "Contract", "classification"),
    ("marks", {}, "label", "classification"),
    ("marks", {"target": "mark"}, "mark", "classification"),
    ("marks", {"target": "mark", "problem": "regression"}, "mark", "regression"),
    ("marks", {"target": "mark", "metric": "rmse"}, "mark", "regression"),
    ("marks", {"target": "mark", "metric": "accuracy"}, "mark", "classification"),
    ("marks", {"target": "mark", "constraints": "mae<=1"}, "mark", "regression"),
    ("marks", {"threshold": "points>3"}, "points", "classification"),
    ("marks", {"clusters": 4}, "", "clustering"),
    ("marks", {"labels": "label"}, "", "clustering"),
    ("marks", {"problem": "clustering"}, "", "clustering"),
    ("cards", {"target": "card"}, "card", "classification"),
    ("cards", {"target": "card", "problem": "regression"}, "card", "regression"),
    ("cards", {"target": "card", "metric": "rmse"}, "card", "regression"),
    ("graph", {"problem": "clustering"}, "", "node_clustering"),
    ("graph", {"problem": "node_clustering", "labels": "area"}, "", "node_clustering"),
    ("graph", {"target": "area"}, "area", "node_classification"),
])  # fmt: skip
def test_target_and_problem(name: str, fields: dict[str, Any], target: str, problem: str) -> None:
    made = task(name, **fields)
    assert (made.target, made.problem) == (target, problem) and "problem" in made.sources


@pytest.mark.parametrize(("listed", "unread"), [
    ("a, b", ()), ("A or B", ()), ("a, b, c", ("a, b, c",)), ("only b", ("only b",)),
])  # fmt: skip
def test_a_list_of_the_classes_asks_for_nothing(listed: str, unread: tuple[str, ...]) -> None:
    given = task_of(TaskFile.model_validate({"target": "label"}), "flag").model_copy(update={"unread": (listed,)})
    assert completed(given, TABLES["marks"]).unread == unread


def test_metrics_of_one_class_are_means_over_more_than_two() -> None:
    made = task("customers", target="Contract", metric="f1", constraints="recall>=0.8")
    assert (made.metric, [str(one) for one in made.constraints]) == ("f1_macro", ["balanced_accuracy >= 0.8"])
    assert task("customers", target="Churn", metric="f1").metric == "f1"
    assert task("customers", target="Contract", metric="f1", positive="Yearly").metric == "f1"
    with pytest.raises(UserError, match="Precision is of one class") as caught:
        task("customers", target="Contract", metric="precision")
    assert "--positive" in caught.value.remedy


def test_texts_are_the_last_to_be_predicted() -> None:
    data = table({"words": "text 90: a b c", "price": "number 90: 1.5", "part": "category 9: a"})
    chosen = chosen_target(read_sentence("Who knows?", data).task, data)
    assert isinstance(chosen, OpenTarget) and chosen.candidates == ("part", "price", "words")


@pytest.mark.parametrize(("name", "time"), [("spots", "year"), ("months", ""), ("sensors", "at")])
def test_times_of_a_forecast(name: str, time: str) -> None:
    target = {"spots": "spots", "months": "month", "sensors": "heat"}[name]
    assert task(name, target=target, problem="forecasting").time == time


def test_several_columns_are_forecast_together() -> None:
    made = task("bikes", "Forecast casual and registered for the next 7 days")
    assert made.forecast.targets == ("casual", "registered") and made.target == "casual"
    assert made.time == "dteday" and not made.unread
    with pytest.raises(AssertionError, match="more than one column"):
        task("bikes", "Forecast casual or registered for the next 7 days")


@pytest.mark.parametrize("times", ["1967 1968 1969", "1/22/20 1/23/20 1/24/20", "2020Q1 2020Q2 2020Q3"])
def test_a_row_for_each_series_is_refused_with_the_remedy(times: str) -> None:
    data = table({"state": "category 90: a"} | dict.fromkeys(times.split(), "number 90: 1.5"))
    with pytest.raises(UserError, match="each row is a series") as caught:
        resolved(read_sentence("Forecast the next 3 years for each state", data).task, data)
    assert "id_vars=['state']" in caught.value.remedy


def test_a_horizon_makes_a_forecast_of_numbered_times() -> None:
    made = task("spots", "Predict spots 11 years ahead")
    assert (made.problem, made.time, made.forecast.horizon) == ("forecasting", "year", "11 years")


def test_numbered_times_are_no_targets() -> None:
    made = task("spots", target="all", problem="forecasting")
    assert made.forecast.targets == ("spots",) and made.time == "year"
    assert task("spots", target="year", problem="forecasting").time == ""


def test_what_a_sentence_states_about_forecasts_is_idle_elsewhere() -> None:
    made = task("customers", "Predict Churn for each Contract in the next 3 months")
    assert made.problem == "classification" and made.forecast == Forecast() and len(made.unread) == 2


@pytest.mark.parametrize(("name", "text", "fields", "code"), [
    ("customers", "", {"target": "chrun"}, "no-such-column"),
    ("customers", "", {"target": "Churn", "exclude": "tenur"}, "no-such-column"),
    ("customers", "", {"target": "Churn", "exclude": ["tenure,Churn"]}, "target-excluded"),
    ("customers", "", {"target": "Churn", "known_after": "Churn"}, "target-excluded"),
    ("customers", "", {"target": "Churn", "metric": "rmse"}, "unknown-metric"),
    ("customers", "Predict tenure with 95 % accuracy", {}, "unknown-metric"),
    ("customers", "", {"target": "Contract", "problem": "regression"}, "problem-misfit"),
    ("customers", "", {"target": "Monthly Charges", "problem": "classification"}, "problem-misfit"),
    ("customers", "", {"target": "Churn", "problem": "clustering"}, "problem-misfit"),
    ("customers", "", {"target": "Churn", "clusters": 3}, "problem-misfit"),
    ("customers", "", {"target": "Churn", "threshold": "tenure>3"}, "problem-misfit"),
    ("customers", "", {"threshold": "Contract>3"}, "no-numbers"),
    ("customers", "", {"target": "Churn", "positive": "maybe"}, "no-such-class"),
    ("customers", "", {"target": "Churn", "split": "time"}, "no-times"),
    ("customers", "", {"target": "Churn", "split": "group"}, "no-groups"),
    ("customers", "", {"target": "Churn", "include": "tenure", "exclude": "tenure"}, "no-columns"),
    ("customers", "", {"target": "Churn", "include": "tenure, Contract", "exclude": "tenure"}, "column-contradiction"),
    ("customers", "", {"target": "Churn", "learners": "svm"}, "unknown-learner"),
    ("customers", "", {"target": "Churn", "learners": "not:magic"}, "unknown-learner"),
    ("customers", "", {"problem": "node_clustering"}, "problem-misfit"),
    ("graph", "", {"target": "area", "problem": "node_clustering"}, "problem-misfit"),
    ("same", "", {"target": "one"}, "bad-target"),
    ("same", "", {"target": "id"}, "bad-target"),
    ("same", "", {"target": "photo"}, "bad-target"),
])  # fmt: skip
def test_what_cannot_be_is_refused_with_a_remedy(name: str, text: str, fields: dict[str, Any], code: str) -> None:
    with pytest.raises(UserError) as caught:
        task(name, text, **fields)
    assert caught.value.code == code and caught.value.remedy


def test_an_unknown_name_comes_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"--group-by names 'customer', .* Did you mean 'customer_id'\?"):
        task("customers", target="Churn", group_by="customer")


@pytest.mark.parametrize(("text", "first"), [
    ("", "Churn"), ("Predict the charges", "Monthly Charges"), ("Predict tenure and Contract", "tenure"),
])  # fmt: skip
def test_where_two_columns_could_be_the_target_somebody_has_to_name_it(text: str, first: str) -> None:
    data = TABLES["customers"]
    reading = read_sentence(text, data)
    chosen = chosen_target(resolved(reading.task, data), data, reading.candidates)
    assert isinstance(chosen, OpenTarget) and chosen.candidates[0] == first
    assert chosen.answered("1") == chosen.answered(f" '{first.upper()}'. ") == first
    for answer in (None, "", "whatever", "99"):
        with pytest.raises(UserError, match=f"--target COLUMN. Candidates are '{first}'") as caught:
            chosen.answered(answer)
        assert caught.value.code == "request-no-target"


def test_files_without_labels_have_no_target() -> None:
    chosen = chosen_target(TaskSpec(), DataSummary(columns=table({"photo": "image 90: a.jpg"}).columns))
    assert isinstance(chosen, OpenTarget)
    with pytest.raises(UserError, match="folder per class"):
        chosen.answered(None)


def test_the_data_may_mark_the_target_but_a_conventional_name_is_not_enough_for_words_that_were_not_read() -> None:
    data = DataSummary(columns=TABLES["marks"].columns, targets=("points",))
    marked = chosen_target(TaskSpec(), data)
    assert isinstance(marked, TaskSpec) and marked.target == "points" and marked.sources["target"].origin == "data"
    reading = read_sentence("Predict who passes", TABLES["marks"])
    assert isinstance(chosen_target(reading.task, TABLES["marks"]), OpenTarget)


def test_times_groups_and_parts() -> None:
    assert task("sensors", target="ok", split="time").time == "at", "the one with the most different times"
    assert task("sensors", target="ok", time="read").split.by == "time"
    assert task("customers", target="Churn", group_by="contract").split.by == "group"
    made = task("customers", target="Churn", split="contract, folds:4").split
    assert (made.by, made.column, made.folds) == ("column", "Contract", 4)


def test_a_limit_on_the_training_time_bounds_the_budget_unless_one_is_given() -> None:
    assert task("customers", target="Churn", constraints="training_time<=60s").budget == pytest.approx(51)
    assert task("customers", target="Churn", constraints="training_time<=60s", budget="90s").budget == 90
    assert task("customers", target="Churn", constraints="training_time<=1h").budget == 120


def test_a_learner_that_a_sentence_asks_for_and_that_is_not_there_is_unmet() -> None:
    made = task("customers", "Use an SVM or a linear model to predict Churn, no transformers.")
    assert [str(one) for one in made.learners] == ["linear (required)"]
    assert sorted(wish.rpartition(": ")[2] for wish in made.unmet) == [
        "no learner 'svm' for this classification here. svm needs air.",
        "no learner 'transformer' for this classification here",
    ]  # fmt: skip


def test_completing_twice_is_completing_once() -> None:
    made = task("sensors", "Predict ok, AUC of at least 0.7, test by time", exclude="heat")
    assert completed(resolved(made, TABLES["sensors"]), TABLES["sensors"]) == made
    assert (made.metric, made.time, made.exclude) == ("roc_auc", "at", ("heat",))
