"""The same kind of number is always written in the same way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.automl import wording
from palmette.automl.requirements import Constraint

THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("write", "value", "written"),
    [
        (wording.number, 0.123456, "0.1235"),
        (wording.number, 1999, "1999"),
        (wording.number, 1234567.8, f"1{THIN}234{THIN}568"),
        (wording.number, -2.5, "−2.5"),
        (wording.number, 3e-9, "3.000e−9"),
        (wording.number, float("nan"), "–"),
        (wording.number, float("-inf"), "−∞"),
        (wording.share, 0.9999, "99.9 %"),
        (wording.share, 0.00001, "< 0.1 %"),
        (wording.share, 1, "100 %"),
        (wording.share, -0.051, "−5.1 %"),
        (wording.seconds, 0.0042, "4.2 ms"),
        (wording.seconds, 9.96, "10 s"),
        (wording.seconds, 59.7, "60 s"),
        (wording.seconds, 119.6, "2 min"),
        (wording.seconds, 3725, "1 h 2 min"),
        (wording.size, 0.25, "250 kB"),
        (wording.size, 2100, "2.1 GB"),
        (wording.money, 0.004, "< $0.01"),
        (wording.algorithm, "xgboost, linear, xgboost", "XGBoost, Linear model"),
    ],
)
def test_numbers_are_written_alike(write: Callable[[object], str], value: object, written: str) -> None:
    assert write(value) == written


@pytest.mark.parametrize(
    ("given_constraint", "written"),
    [
        (Constraint(quantity="score", metric="f1", comparison=">=", value=0.9, words=""), "F1: at least 0.9"),
        (
            Constraint(quantity="prediction time", comparison="<", value=0.05, per="row", words=""),
            "Prediction time for a row: less than 50 ms",
        ),
        (Constraint(quantity="model size", comparison="<=", value=5e6, words=""), "Model size: at most 5 MB"),
    ],
)
def test_constraints_are_written_with_their_units(given_constraint: Constraint, written: str) -> None:
    assert wording.constraint(given_constraint) == written


@given(st.text(), st.integers(4, 80))
def test_a_shown_text_is_short_on_one_line_and_visible(text: str, most: int) -> None:
    shown = wording.short(text, most)
    assert len(shown) <= most
    assert not set(shown) & set("\n\r\t\x00\u202e\u2066\ufeff\u200b\x1b")
