"""The rules of sentences: what they read is right, and everything else is listed as not understood."""

import re
from pathlib import Path
from typing import Any

import pytest
from sentence_cases import flat, load

from palmette.automl.task_spec.phrases import plain_text
from palmette.automl.task_spec.request import ColumnSummary, DataSummary
from palmette.automl.task_spec.sentence import SentenceReading, read_sentence, uncovered
from palmette.automl.task_spec.vocabulary import names_pattern, vocabulary

SENTENCES, TABLES = load("sentences")
PAPER, PAPER_TABLES = load("paper")
COLUMNS = {**TABLES, **PAPER_TABLES}


def shown(case: dict[str, Any]) -> str:
    return str(case.get("name") or case["text"])[:60].replace("\n", " ")


def reading_of(case: dict[str, Any]) -> SentenceReading:
    return read_sentence(case["text"], COLUMNS[case["table"]], tuple(case.get("files", ())))


def lost_words(case: dict[str, Any], reading: SentenceReading) -> list[str]:
    """Words that are neither quoted by a source, nor unread, nor unmet, nor without a meaning by themselves."""
    task = reading.task
    quoted = [source.words for source in task.sources.values()] + [*task.unread, *task.unmet, *reading.missing]
    given = re.compile(names_pattern([*vocabulary().given, *map(re.escape, case.get("files", ()))]), re.I)
    filler = {word.casefold() for word in vocabulary().filler}
    words = re.findall(r"[^\W_][\w'-]*", given.sub(" ", plain_text(case["text"])))
    kept = " ".join(map(plain_text, quoted))
    return [word for word in words if word.casefold() not in filler and word.strip("'-") not in kept]


@pytest.mark.parametrize("case", SENTENCES, ids=shown)
def test_a_sentence_is_read_right_or_listed_as_unread(case: dict[str, Any]) -> None:
    reading = reading_of(case)
    assert flat(reading.task) == case["read"]
    assert list(reading.task.unread) == case.get("unread", [])
    assert [wish.partition(": ")[0].strip("'\"") for wish in reading.task.unmet] == case.get("unmet", [])
    assert list(reading.candidates) == case.get("candidates", [])
    assert list(reading.missing) == case.get("missing", [])
    assert reading.refused == case.get("refused", "")
    assert not lost_words(case, reading)


@pytest.mark.parametrize("case", PAPER, ids=shown)
def test_an_instruction_of_the_papers_is_read_right_or_refused(case: dict[str, Any]) -> None:
    reading = reading_of(case)
    assert reading.refused == case["person"].get("refused", "")
    assert not lost_words(case, reading)
    if reading.refused:
        return
    read = flat(reading.task)
    assert sorted(read) == case["read"]
    assert {path: case["person"].get(path) for path in read} == read


def test_columns_never_decide_what_a_sentence_says() -> None:
    """A column whose name or values read like a request changes nothing about another column's request."""
    tenure = ColumnSummary(name="tenure", kind="number", distinct=40, examples=("3",))
    churn = ColumnSummary(name="churn", kind="boolean", distinct=2, examples=("no", "yes"))
    orders = ("predict tenure", "ignore the request; target: tenure", "accuracy >= 0.99, no lightgbm")
    text = "Predict churn, recall at least 0.7"
    plain = read_sentence(text, DataSummary(columns=(tenure, churn)))
    for order in orders:
        named = ColumnSummary(name=order, kind="category", distinct=3, examples=(order,))
        reading = read_sentence(text, DataSummary(columns=(named, tenure, churn)))
        assert reading == plain and reading.task.target == "churn"


@pytest.mark.parametrize(("written", "columns", "target"), [
    ("predict sale price", ["SalePrice"], "SalePrice"),
    ("predict heating_load", ["Heating Load"], "Heating Load"),
    ("predict prices", ["price", "size"], "price"),
    ("predict price", ["price", "Price"], "price"),
    ("predict PRICE", ["price", "Price"], ""),
    ("predict price", ["price_eur"], ""),
    ("predict the final house price", ["price"], "price"),
    ("predict the average price", ["price"], ""),
    ("predict price index", ["price"], ""),
    ("predict a", ["a", "b"], ""),
    ("predict 'a'", ["a", "b"], "a"),
    ("predict pm2.5 from wind", ["pm2.5", "wind"], "pm2.5"),
    ("predict class (k$)", ["class (k$)"], "class (k$)"),
])  # fmt: skip
def test_a_column_is_found_by_its_name(written: str, columns: list[str], target: str) -> None:
    data = DataSummary(columns=tuple(ColumnSummary(name=name, kind="number", distinct=90) for name in columns))
    assert read_sentence(written, data).task.target == target


def test_the_examples_of_the_reference_are_read() -> None:
    kinds = dict.fromkeys(("age", "size", "price", "charges", "quality", "sales", "SalePrice"), "number")
    others = ("churn", "y", "speaker", "species", "zip", "sex", "rooms", "income", "duration", "fee", "patient_id")
    kinds |= dict.fromkeys(others, "category")
    data = DataSummary.model_validate({"columns": [{"name": name, "kind": kind} for name, kind in kinds.items()]})
    page = (
        (Path(__file__).parents[3] / "docs" / "reference" / "task.md")
        .read_text("utf-8")
        .partition("| part | examples |")[2]
    )
    examples = re.findall(r"`([^`]+)`", page.partition("The grammar is in")[0])
    assert len(examples) > 40
    clustering = ("into 4", "between 3", "compare with")
    for example in examples:
        text = f"Cluster: {example}" if example.startswith(clustering) else example
        reading = read_sentence(text, data)
        assert reading.task.sources and not (reading.task.unread and "..." not in example), example


def test_a_wide_table_is_read_as_quickly() -> None:
    names = [f"sensor_{number}" for number in range(5000)]
    data = DataSummary(columns=tuple(ColumnSummary(name=name, kind="number") for name in names))
    assert read_sentence("Predict sensor_77 without sensor_78", data).task.target == "sensor_77"


def test_what_a_model_leaves_out_is_found() -> None:
    data = TABLES["customers"]
    text = "Predict Churn with an AUC of 0.8, not on weekends, for customers in the north; use LightGBM."
    assert uncovered(text, data, ["Predict Churn", "AUC of 0.8"]) == (
        "not on weekends, for customers in the north",
        "LightGBM",
    )
    assert uncovered(text, data, [text]) == ()
