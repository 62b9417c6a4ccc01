"""Requests in plain words, read by the rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from request_cases import differences, flat, hint, load, read, tables

from palmette.automl.requirements import ColumnHint, read_request
from palmette.automl.requirements.quantities import amounts
from palmette.automl.requirements.text import Text
from palmette.automl.requirements.vocabulary import algorithm_mentions, metric_mentions, vocabulary

PHRASES: dict[str, Any] = load("phrases")
ALL = [(name, case) for name in ("paper", "unseen", "fresh", "later", "last", "silent") for case in load(name)]


def pairs(kind: str) -> list[tuple[str, str]]:
    return [(result, phrase) for result, phrases in PHRASES[kind].items() for phrase in phrases]


def title(value: Any) -> str:
    return value if isinstance(value, str) else (value.get("name") or value["text"])[:60].replace("\n", " ")


@pytest.mark.parametrize(("source", "case"), ALL, ids=title)
def test_a_request_is_read_as_a_person_reads_it(source: str, case: Mapping[str, Any]) -> None:
    assert not differences(case)


STYLES: dict[str, Any] = load("styles")
STYLE_FIELDS = (
    "task", "column", "metric", "constraints", "algorithms", "excluded", "split", "n_clusters", "threshold", "question",
    "blind",
)  # fmt: skip
"""What must be as expected, and empty where nothing is; other fields only where the case names them."""


@pytest.mark.parametrize("case", STYLES["cases"], ids=title)
def test_a_request_in_any_style_is_read_whole_or_asked_about(case: Mapping[str, Any]) -> None:
    columns = {name: hint(words) for name, words in STYLES["tables"][case["columns"]].items()}
    got = flat(read_request(case["text"], columns))
    fields = ("declined",) if got["declined"] else {*STYLE_FIELDS, *case["expect"]}
    assert {name: got[name] for name in fields if got[name]} == case["expect"]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Predict whether a house is sold", "sold"),
        ("Predict the column sold", "sold"),
        ("Predict the 'sold' column", "sold"),
        ("Predict the target column in this file", "side"),
        ("", "side"),
    ],
)
def test_a_column_with_one_value_is_predicted_only_if_the_request_names_it(text: str, target: str) -> None:
    columns = {
        "size": ColumnHint(kind="numeric", distinct=90),
        "side": ColumnHint(kind="categorical", distinct=3, examples=("north", "south", "east")),
        "sold": ColumnHint(kind="constant", distinct=1, examples=("yes",)),
    }
    assert read_request(text, columns).requirements.dataset.target_column == target


def test_all_instructions_of_the_paper_are_there() -> None:
    assert len(load("paper")) == 28


QUOTED = ("features", "files", "unread", "hints", "preprocessing", "augmentation")


def words_in(value: Any) -> Iterator[str]:
    """Every text that claims to be a quotation of the request."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            inner = getattr(value, name)
            if name in ("words", "description", "target") and isinstance(inner, str):
                yield inner
            elif name in QUOTED:
                yield from inner
            elif name == "evidence":
                yield from inner.values()
            else:
                yield from words_in(inner)
    elif isinstance(value, tuple):
        for one in value:
            yield from words_in(one)


@pytest.mark.parametrize(("source", "case"), [one for one in ALL if "columns" not in one[1]], ids=title)
def test_everything_that_was_understood_quotes_the_request(source: str, case: Mapping[str, Any]) -> None:
    assert all(words in case["text"] for words in words_in(read(case).requirements))


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=200) | st.lists(st.sampled_from(PHRASES["words"]), max_size=30).map(" ".join),
    st.sampled_from([None, *tables()]),
)
def test_no_text_breaks_the_rules(text: str, table: str | None) -> None:
    columns = tables().get(table or "")
    understood = read_request(text, columns)
    made = understood.requirements
    assert made.text == text
    assert not columns or made.dataset.target_column in {"", *columns}
    assert understood.question is None or understood.refusal is None
    assert all(words in text for words in words_in(made))


@pytest.mark.parametrize(("sign", "phrase"), pairs("comparisons"))
def test_comparisons(phrase: str, sign: str) -> None:
    metric = "log loss" if sign in ("<", "<=") else "accuracy"
    text = f"Predict Churn in data.csv; the {metric} should be {phrase.format(n=0.9)}."
    assert flat(read_request(text, tables()["churners"]))["constraints"] == [f"{metric.replace(' ', '_')} {sign} 0.9"]


@pytest.mark.parametrize(("words", "unit", "value"), PHRASES["numbers"])
def test_numbers_with_units(words: str, unit: str, value: float) -> None:
    text = Text(f"It takes {words} at the end.")
    (amount,) = amounts(text, [])
    assert (amount.unit, amount.value) == (unit, pytest.approx(value))
    assert text.quote(amount.start, amount.end) in text.written


@pytest.mark.parametrize("text", PHRASES["bind nothing"])
def test_numbers_that_bind_nothing(text: str) -> None:
    assert not read_request(text, tables()["churners"]).requirements.problem.constraints


@pytest.mark.parametrize(("mood", "words"), pairs("moods"))
def test_moods(words: str, mood: str) -> None:
    made = read_request(f"Predict Churn. {words}.", tables()["churners"]).requirements
    assert {one.name: one.mood for one in made.model.algorithms}["lightgbm"] == mood


def test_every_phrase_of_the_vocabulary_is_found_by_its_own_name() -> None:
    """Names as they are written in code: they must lead to themselves."""
    for name in vocabulary().metrics:
        assert [one.name for one in metric_mentions(f"the metric is {name} score.")] == [name]
    for name in vocabulary().algorithms:
        found = [one.name for one in algorithm_mentions(f"use {name}.")]
        assert found in ([name], []), (name, found)


def test_a_question_is_answered_by_what_was_said() -> None:
    columns = tables()["energy"]
    first = read_request("Predict heating and cooling load.", columns)
    assert first.question and first.question.options == ("heating_load", "cooling_load")
    said = read_request("Predict heating and cooling load.", columns, answers={first.question.about: "cooling_load"})
    assert (said.question, said.requirements.dataset.target_column) == (None, "cooling_load")


def column_for(text: str, *names: str) -> str:
    columns = {name: ColumnHint(kind="numeric") for name in names}
    return read_request(text, columns).requirements.dataset.target_column


@pytest.mark.parametrize("text, column", [
    ("Predict target", "target"), ("Classify the class", "class"), ("Predict y", "y"), ("predict the label!", "label"),
])  # fmt: skip
def test_a_verb_is_no_column_where_another_is_named(text: str, column: str) -> None:
    assert column_for(text, "predict", "classify", column) == column


@pytest.mark.parametrize("text", [
    "Predict sales over time", "Predict sales during the time", "Predict sales throughout the time",
    "Don't predict time, predict sales", "Do not predict time; predict sales", "Predict sales instead of time",
])  # fmt: skip
def test_what_the_target_only_goes_along_with_is_not_predicted(text: str) -> None:
    assert column_for(text, "time", "sales", "store") == "sales"


def test_what_was_supposed_is_said() -> None:
    made = read_request("", tables()["anonymous"]).requirements
    supposed = {one.field: one.value for one in made.assumptions}
    assert supposed == {"dataset.target_column": "y", "problem.task": "regression"}
    made = read_request("Predict y, RMSE of at least 0.5", tables()["anonymous"]).requirements
    assert flat(read_request(made.text, tables()["anonymous"]))["constraints"] == ["rmse <= 0.5"]
    assert any("Smaller is better" in one.why for one in made.assumptions)


def test_numbers_that_nobody_could_place_are_shown() -> None:
    made = read_request("Predict Churn, at most 7 leaves of a kind.", tables()["churners"]).requirements
    assert made.unread == ("at most 7 leaves of a kind",)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("part", ["accuracy 0.9 ", "5 ms ", "(", " ", "0", "1,000"])
def test_long_texts_are_read_in_time(part: str) -> None:
    """Texts on which a careless pattern takes minutes."""
    assert read_request(part * (20_000 // len(part)), tables()["churners"]).requirements.text.startswith(part)


def test_every_refusal_gives_an_example_that_is_accepted() -> None:
    for case in (case for _, case in ALL if case["expect"].get("declined")):
        refusal = read(case).refusal
        assert refusal and refusal.reason.endswith((".", "...")) and not re.search(r"\s{2}", refusal.reason)
        again = read_request(refusal.example, tables().get(case.get("columns", "")), ["customers.csv"])
        assert again.refusal is None or ("columns" in case and refusal.code != "no-target")


DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "requirements.md"
EXAMPLES = re.findall(r"^\| `([^`]+)` \| (\w+): (.+) \|$", DOCUMENT.read_text("utf-8"), re.M)


@pytest.mark.parametrize(("words", "field", "value"), EXAMPLES)
def test_the_examples_of_the_documentation(words: str, field: str, value: str) -> None:
    got = flat(read_request(f"Build a model from data.csv: {words}."))[field]
    assert (", ".join(got) if isinstance(got, list) else str(got)) == value


def test_the_documentation_has_its_examples() -> None:
    assert len(EXAMPLES) >= 20
