"""Answers in the form that was asked for: rows and columns of the sample, labels or probabilities as it has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - comes with pandas

from palmette.automl.data.load import Loaded, load  # noqa: E402 - needs pandas
from palmette.automl.measure import Predictions  # noqa: E402 - as above
from palmette.automl.submission import answered, formulas  # noqa: E402 - as above
from palmette.errors import UserError  # noqa: E402 - as above

SAID = Predictions(np.array(["yes", "no", "yes"]), np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]]), ("no", "yes"))


def contest(folder: Path, sample: str) -> Loaded:
    rows = "".join(f"{n},{n % 7}.5,{'yes' if n % 2 else 'no'}\n" for n in range(40))
    (folder / "train.csv").write_text(f"id,size,paid\n{rows}", "utf-8")
    (folder / "test.csv").write_text("id,size\n7,1.5\n8,2.5\n9,3.5\n", "utf-8")
    if sample:
        (folder / "sample_submission.csv").write_text(sample, "utf-8")
    return load([folder])


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("id,paid\n9,no\n7,no\n8,no\n", {"id": [9, 7, 8], "paid": ["yes", "yes", "no"]}),
        ("id,paid\n9,0.5\n7,0.5\n8,0.5\n", {"id": [9, 7, 8], "paid": [0.6, 0.9, 0.2]}),
    ],
    ids=["labels", "probabilities"],
)
def test_a_submission_has_the_rows_and_the_form_of_the_sample(sample: str, expected: dict, tmp_path: Path) -> None:
    name, made = answered(contest(tmp_path, sample), SAID, "paid", "yes")
    assert name == "submission.csv" and list(made) == list(expected)
    assert [int(one) for one in made["id"]] == expected["id"] and list(made["paid"]) == expected["paid"]


def test_a_sample_of_other_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="do not belong together"):
        contest(tmp_path, "id,paid\n77,no\n7,no\n8,no\n")
    loaded = contest(tmp_path, "id,paid\n9,no\n7,no\n8,no\n")
    assert loaded.submission is not None
    other = replace(loaded, submission=loaded.submission.replace({"id": {"9": "77"}}))
    with pytest.raises(UserError, match="id '77'") as caught:
        answered(other, SAID, "paid", "yes")
    assert caught.value.code == "submission-differs"


def test_without_a_sample_every_row_has_its_prediction(tmp_path: Path) -> None:
    name, made = answered(contest(tmp_path, ""), SAID, "paid", "yes")
    assert name == "predictions.csv" and list(made["prediction"]) == ["yes", "no", "yes"] and "size" in made


def test_cells_that_a_spreadsheet_would_execute_are_counted_and_stay() -> None:
    frame = pd.DataFrame({"=1+1": [-5, 2], "note": ["=cmd|' /C calc'!A0", "-5"], "sign": ["+49 30", "@me"]})
    before = frame.copy()
    assert formulas(frame) == 4
    pd.testing.assert_frame_equal(frame, before)


def test_a_single_column_has_labels_whatever_it_is_called_and_several_have_probabilities(tmp_path: Path) -> None:
    loaded = contest(tmp_path, "id,paid\n9,no\n7,no\n8,no\n")
    rows = ["7", "8", "9"]
    chances = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]])
    numbers = Predictions(np.array(["1", "0", "1"]), chances, ("0", "1"))
    single = replace(loaded, submission=pd.DataFrame({"id": rows, "risk_1": ["0", "0", "0"]}))
    assert list(answered(single, numbers, "risk_1", "1")[1]["risk_1"]) == ["1", "0", "1"]
    names = Predictions(np.array(["or", "b_or", "or"]), chances, ("or", "b_or"))
    several = replace(loaded, submission=pd.DataFrame({"id": rows, "p_or": ["0"] * 3, "p_b_or": ["0"] * 3}))
    _, made = answered(several, names, "paid")
    assert (list(made["p_or"]), list(made["p_b_or"])) == ([0.1, 0.8, 0.4], [0.9, 0.2, 0.6])
