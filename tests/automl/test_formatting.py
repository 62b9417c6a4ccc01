"""The same kind of number is always written in the same way."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.automl import formatting
from palmette.automl.task_spec.spec import Constraint

THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("write", "value", "written"),
    [
        (formatting.number, 0.123456, "0.1235"),
        (formatting.number, 1999, "1999"),
        (formatting.number, 1234567.8, f"1{THIN}234{THIN}568"),
        (formatting.number, -2.5, "−2.5"),
        (formatting.number, 3e-9, "3.000e−9"),
        (formatting.number, float("nan"), "–"),
        (formatting.number, float("-inf"), "−∞"),
        (formatting.share, 0.9999, "99.9 %"),
        (formatting.share, 0.00001, "< 0.1 %"),
        (formatting.share, 1, "100 %"),
        (formatting.share, -0.051, "−5.1 %"),
        (formatting.seconds, 0.0042, "4.2 ms"),
        (formatting.seconds, 9.96, "10.0 s"),
        (formatting.seconds, 60.4, "60.4 s"),
        (formatting.seconds, 119.6, "2 min"),
        (formatting.seconds, 3725, "1 h 2 min"),
        (formatting.size, 0.25, "250 kB"),
        (formatting.size, 2100, "2.1 GB"),
        (formatting.money, 0.004, "< $0.01"),
        (formatting.learner, "xgboost, logistic_regression, xgboost", "XGBoost, Logistic regression"),
    ],
)
def test_numbers_are_written_alike(write: Callable[[object], str], value: object, written: str) -> None:
    assert write(value) == written


@pytest.mark.parametrize(
    ("given_constraint", "written"),
    [
        (Constraint(quantity="score", metric="f1", comparison=">=", value=0.9), "F1: at least 0.9"),
        (Constraint(quantity="score", comparison=">", value=0.9), "score: more than 0.9"),
        (Constraint(quantity="latency", comparison="<", value=0.05), "answer for one row: less than 50 ms"),
        (Constraint(quantity="size", comparison="<=", value=5e6), "size of the model: at most 5 MB"),
    ],
)
def test_constraints_are_written_with_their_units(given_constraint: Constraint, written: str) -> None:
    assert formatting.constraint(given_constraint) == written


@given(st.text(), st.integers(4, 80))
def test_a_shown_text_is_short_on_one_line_and_visible(text: str, most: int) -> None:
    shown = formatting.short(text, most)
    assert len(shown) <= most
    assert not set(shown) & set("\n\r\t\x00\u202e\u2066\ufeff\u200b\x1b")
