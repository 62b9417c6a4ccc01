"""Answers in the form that was asked for: rows and columns of the sample, labels or probabilities as it has them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - comes with pandas

from palmette.automl.actors.deployer.actor import formulas, prediction_file  # noqa: E402 - as above
from palmette.automl.measure.metrics import Predictions  # noqa: E402 - needs pandas
from palmette.automl.samples import Loaded  # noqa: E402 - as above
from palmette.automl.samples.load import in_classes, load  # noqa: E402 - as above
from palmette.automl.task_spec.spec import Threshold  # noqa: E402 - as above
from palmette.errors import InputError  # noqa: E402 - as above

SAID = Predictions(np.array(["yes", "no", "yes"]), np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]]), ("no", "yes"))


def written(folder: Path, train: str, test: str, sample: str) -> Loaded:
    for name, text in (("train", train), ("test", test), ("sample_submission", sample)):
        if text:
            (folder / f"{name}.csv").write_text(text, "utf-8")
    return load([folder])


def contest(folder: Path, sample: str, test: str = "7,1.5\n8,2.5\n9,3.5\n") -> Loaded:
    rows = "".join(f"{n},{n % 7}.5,{'yes' if n % 2 else 'no'}\n" for n in range(40))
    return written(folder, f"id,size,paid\n{rows}", f"id,size\n{test}", sample)


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("id,paid\n9,no\n7,no\n8,no\n", {"id": [9, 7, 8], "paid": ["yes", "yes", "no"]}),
        ("id,paid\n9,0.5\n7,0.5\n8,0.5\n", {"id": [9, 7, 8], "paid": [0.6, 0.9, 0.2]}),
    ],
    ids=["labels", "probabilities"],
)
def test_a_submission_has_the_rows_and_the_form_of_the_sample(sample: str, expected: dict, tmp_path: Path) -> None:
    name, made = prediction_file(contest(tmp_path, sample), SAID, "paid", "yes")
    assert name == "submission.csv" and list(made) == list(expected)
    assert [int(one) for one in made["id"]] == expected["id"] and list(made["paid"]) == expected["paid"]


@pytest.mark.parametrize(
    ("sample", "test", "value", "said"),
    [
        ("8,no\n77,no\n", "7,1.5\n8,2.5\n", "77", "of the sample submission asks for id '77', which is not a row"),
        ("7,no\n8,no\n,no\n", "7,1.5\n8,2.5\n", "", "Row 3 of the sample submission asks for id ''"),
        ("8,no\n7,no\n7,no\n", "7,1.5\n7,2.5\n8,3.5\n", "7", "which is in several rows of test.csv, and 1 more"),
    ],
    ids=["unknown", "empty", "repeated"],
)
def test_a_sample_of_other_rows_is_refused_when_the_data_are_read(
    sample: str, test: str, value: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        contest(tmp_path, f"id,paid\n{sample}", test)
    (problem,) = caught.value.problems
    assert problem.code == "submission-differs" and problem.file.endswith("sample_submission.csv")
    assert (problem.field, problem.value) == ("id", value) and "leave it out" in problem.remedy


def test_a_key_that_comes_again_in_the_same_order_is_none_to_stumble_over(tmp_path: Path) -> None:
    loaded = contest(tmp_path, "id,paid\n7,no\n7,no\n8,no\n", "7,1.5\n7,2.5\n8,3.5\n")
    assert list(prediction_file(loaded, SAID, "paid", "yes")[1]["paid"]) == ["yes", "no", "yes"]


def test_a_column_of_the_sample_that_is_another_target_stays_as_it_is(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 7}.5,{n},{n % 3}\n" for n in range(40))
    train, test = f"id,size,price,weight\n{rows}", "id,size\n7,1.5\n8,2.5\n"
    loaded = written(tmp_path, train, test, "id,price,weight\n7,0,5\n8,0,6\n")
    _, made = prediction_file(loaded, Predictions(np.array([2.0, 13.0])), "price")
    assert made.to_dict("list") == {"id": ["7", "8"], "price": [2.0, 13.0], "weight": ["5", "6"]}


def test_a_date_as_key_is_found_as_it_is_written(tmp_path: Path) -> None:
    rows = "".join(f"{1 + n % 12}/{1 + n % 28}/2024,{n % 7}.5,{n}\n" for n in range(60))
    test = "day,size\n1/2/2025,1.5\n1/13/2025,2.5\n"
    loaded = written(tmp_path, f"day,size,sold\n{rows}", test, "day,sold\n1/13/2025,0\n1/2/2025,0\n")
    _, made = prediction_file(loaded, Predictions(np.array([2.0, 13.0])), "sold")
    assert made.to_dict("list") == {"day": ["1/13/2025", "1/2/2025"], "sold": [13.0, 2.0]}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [("0", ["1", "0", "1"]), ("No", ["Yes", "No", "Yes"]), ("0.5", [0.9, 0.2, 0.6]), ("120", ["above 3", "at most 3"])],
)
def test_a_threshold_is_answered_in_the_words_of_the_sample(shown: str, expected: list, tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 7}.5,{n % 9}\n" for n in range(40))
    (tmp_path / "train.csv").write_text(f"id,size,price\n{rows}", "utf-8")
    (tmp_path / "test.csv").write_text("id,size\n7,1.5\n8,2.5\n9,3.5\n", "utf-8")
    (tmp_path / "sample_submission.csv").write_text(f"id,price\n7,{shown}\n8,{shown}\n9,{shown}\n", "utf-8")
    threshold = Threshold(column="price", comparison=">", value=3)
    loaded, (asked, other) = in_classes(load([tmp_path]), threshold), threshold.classes
    said = Predictions(np.array([asked, other, asked]), SAID.probabilities, (other, asked))
    _, made = prediction_file(loaded, said, "price", asked)
    assert list(made["price"])[: len(expected)] == expected


def test_without_a_sample_every_row_has_its_prediction(tmp_path: Path) -> None:
    name, made = prediction_file(contest(tmp_path, ""), SAID, "paid", "yes")
    assert name == "predictions.csv" and list(made["prediction"]) == ["yes", "no", "yes"] and "size" in made
    assert list(made["probability_yes"]) == [0.9, 0.2, 0.6]


def test_cells_that_a_spreadsheet_would_execute_are_counted_and_stay() -> None:
    frame = pd.DataFrame({"=1+1": [-5, 2], "note": ["=cmd|' /C calc'!A0", "-5"], "sign": ["+49 30", "@me"]})
    before = frame.copy()
    assert formulas(frame) == 4
    pd.testing.assert_frame_equal(frame, before)


def test_a_single_column_has_labels_whatever_it_is_called_and_several_have_probabilities(tmp_path: Path) -> None:
    loaded = contest(tmp_path, "id,paid\n7,no\n8,no\n9,no\n")
    rows = ["7", "8", "9"]
    chances = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]])
    numbers = Predictions(np.array(["1", "0", "1"]), chances, ("0", "1"))
    single = replace(loaded, submission=pd.DataFrame({"id": rows, "risk_1": ["0", "0", "0"]}))
    assert list(prediction_file(single, numbers, "risk_1", "1")[1]["risk_1"]) == ["1", "0", "1"]
    names = Predictions(np.array(["or", "b_or", "or"]), chances, ("or", "b_or"))
    several = replace(loaded, submission=pd.DataFrame({"id": rows, "p_or": ["0"] * 3, "p_b_or": ["0"] * 3}))
    _, made = prediction_file(several, names, "paid")
    assert (list(made["p_or"]), list(made["p_b_or"])) == ([0.1, 0.8, 0.4], [0.9, 0.2, 0.6])
