"""Flags win over the file, the file over the sentence; lists of wishes come together."""

from typing import Any

from sentence_cases import flat, load

from palmette.automl.task_spec.sentence import read_sentence
from palmette.automl.task_spec.spec import Origin, TaskSpec, merged
from palmette.automl.task_spec.task_file import TaskFile, task_of

CUSTOMERS = load("sentences")[1]["customers"]


def given(origin: Origin, **fields: Any) -> TaskSpec:
    return task_of(TaskFile.model_validate(fields), origin)


def test_the_stronger_wins_field_by_field() -> None:
    flags = given("flag", target="tenure", split="30%", budget="60s")
    file = given("file", target="Contract", metric="mae", split="time, 10%", sentence="Predict Churn")
    sentence = read_sentence("Predict Churn; metric: F1; 5-fold cross-validation; budget 9 minutes", CUSTOMERS).task
    task = merged(flags, file, sentence)
    assert flat(task) == {
        "target": "tenure", "split.test_share": 0.3, "budget": 60.0, "metric": "mae", "split.by": "time",
        "split.folds": 5,
    }  # fmt: skip
    assert task.sentence == "Predict Churn"
    assert [task.sources[path].origin for path in ("target", "metric", "split.by", "split.folds")] == [
        "flag", "file", "file", "sentence",
    ]  # fmt: skip


def test_what_is_replaced_is_stated() -> None:
    sentence = read_sentence("Predict Churn", CUSTOMERS).task
    source = merged(given("flag", target="tenure"), sentence).sources["target"]
    assert source.words == "--target tenure (instead of Churn, sentence)"
    assert merged(given("flag", target="Churn"), sentence).sources["target"].words == "--target Churn"


def test_excluded_columns_and_limits_come_together() -> None:
    flags = given("flag", exclude=["tenure"], constraints=["latency<=20ms", "accuracy>0.8"])
    text = "Predict Churn without Contract; accuracy at least 0.7, under 50 ms a row, at most 5 MB model, recall >= 0.6"
    task = merged(flags, read_sentence(text, CUSTOMERS).task)
    assert task.exclude == ("tenure", "Contract")
    assert sorted(map(str, task.constraints)) == ["accuracy > 0.8", "latency <= 0.02", "recall >= 0.6", "size <= 5e+06"]
    assert "instead of" in task.sources["constraints"].words


def test_the_stronger_says_which_learners_the_model_consists_of() -> None:
    flags = given("flag", learners=["lightgbm", "-knn"])
    sentence = read_sentence("Use a random forest or LightGBM. Predict Churn. No KNN, no SVM.", CUSTOMERS).task
    assert sorted(map(str, merged(flags, sentence).learners)) == [
        "knn (forbidden)",
        "lightgbm (required)",
        "svm (forbidden)",
    ]


def test_merging_changes_nothing_that_it_is_given() -> None:
    flags, file = given("flag", target="a"), given("file", target="b", split="time")
    before = (flags.model_copy(deep=True), file.model_copy(deep=True))
    assert merged(flags, file) == merged(flags, file) and (flags, file) == before
    assert merged(flags) == flags and merged(flags, TaskSpec()) == flags == merged(TaskSpec(), flags)
