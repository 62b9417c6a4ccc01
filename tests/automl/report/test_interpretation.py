"""Each value of a request is shown with the words, flag or default that it was read from."""

from typing import Any

import pytest
from report_cases import findings_for

from palmette.automl.actors.requirement_parser.actor import RequirementParser
from palmette.automl.report.interpretation import interpretation, interpretation_lines
from palmette.automl.task_spec.spec import (
    Clusters,
    Constraint,
    FieldSource,
    Forecast,
    LearnerWish,
    SplitSpec,
    TaskSpec,
    Threshold,
)

CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"threshold": Threshold(column="price", comparison=">", value=5000)}, "threshold", "price > 5000"),
    ({"clusters": Clusters(least=2, most=5)}, "clusters", "least 2; most 5"),
    ({"clusters": Clusters(count=4)}, "clusters", "count 4"),
    ({"metric": "f1_macro"}, "metric", "Macro F1"),
    ({"exclude": ("name", "id")}, "exclude", "name, id"),
    (
        {"split": SplitSpec(by="time", column="day", test_share=0.3, test_from="2024", folds=4)},
        "split",
        "by time; column day; test share 0.3; test from 2024; folds 4",
    ),
    ({"split": SplitSpec(test_share=0)}, "split", "test share 0.0"),
    (
        {"constraints": (Constraint(quantity="latency", comparison="<=", value=0.02),)},
        "constraints",
        "answer for one row: at most 20 ms",
    ),
    (
        {"learners": (LearnerWish(name="lightgbm"), LearnerWish(name="linear", level="forbidden"))},
        "learners",
        "only LightGBM; without Linear",
    ),
    ({"ensemble": False}, "ensemble", "one model"),
    ({"budget": 60}, "budget", "60.0 s"),
]


@pytest.mark.parametrize(("given", "field", "value"), CASES)
def test_values_are_written_as_people_do(given: dict[str, Any], field: str, value: str) -> None:
    assert interpretation(TaskSpec(**given)) == ((field, value, "default"),)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (FieldSource(origin="flag", words="--target"), "--target"),
        (FieldSource(origin="file"), "task.yaml"),
        (FieldSource(origin="sentence", words="the price"), "“the price”"),
        (FieldSource(origin="model", words="what it costs"), "“what it costs”, read by a language model"),
        (FieldSource(origin="answer", words="price"), "“price”"),
        (FieldSource(origin="data", words="the test file lacks it"), "the data: the test file lacks it"),
        (FieldSource(origin="default", words="the last column"), "default: the last column"),
    ],
)
def test_sources_are_named(source: FieldSource, words: str) -> None:
    (found,) = interpretation(TaskSpec(target="price", sources={"target": source}))
    assert found == ("target", "price", words)


def test_data_are_shown_by_their_names() -> None:
    task = TaskSpec(
        data=("/a/b.csv", "sklearn:iris"), sources={"data": FieldSource(origin="flag", words="--data /a/b.csv")}
    )
    assert interpretation(task) == (("data", "b.csv, sklearn:iris", "--data"),)


def test_defaults_without_a_source_are_left_out_and_the_data_fill_in() -> None:
    assert interpretation(TaskSpec()) == ()
    split = {
        "split.folds": FieldSource(origin="flag", words="--folds"),
        "split.by": FieldSource(origin="flag", words="--split"),
    }
    (found,) = interpretation(TaskSpec(sources=split))
    assert found == ("split", "test share 0.2", "--folds; --split")
    blueprint = findings_for().blueprint
    assert ("metric", "Accuracy", "the data") in interpretation(TaskSpec(), blueprint)


def test_lines_are_aligned_and_harmless() -> None:
    task = TaskSpec(target="pri\x1b[2Jce", problem="regression", unread=("fast\nplease",), unmet=("on a phone",))
    assert interpretation_lines(task) == [
        "target   pri\\u001b[2Jce  default",
        "problem  regression      default",
        "? not understood, without effect: fast please",
        "✗ cannot be met: on a phone",
    ]


def test_every_target_of_a_forecast_is_named() -> None:
    task = TaskSpec(target="gas", problem="forecasting", forecast=Forecast(targets=("gas", "power")))
    assert ("target", "gas, power", "default") in interpretation(task)
    assert RequirementParser().in_short(task) == "forecasting of 'gas', 'power': no limits"
