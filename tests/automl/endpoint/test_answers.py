"""Answers that are the same up to the last digits, and rows as JSON."""

import json
from typing import Any

import pytest

pytest.importorskip("pandas", reason="the packages of AutoML are not installed")

import numpy as np
import pandas as pd

from palmette.automl.endpoint.checking import agree, in_time, rows_of_requests


def classed(prediction: str, **probabilities: float) -> dict[str, Any]:
    return {"prediction": prediction, "probabilities": probabilities}


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [
        ({"prediction": 2.0}, {"prediction": 2.0 + 1e-9}, True),
        ({"prediction": 2.0}, {"prediction": 2.001}, False),
        ({"prediction": 2}, {"prediction": 2.0}, True),
        ({"prediction": 2}, {"prediction": "2"}, True),
        (classed("a", a=0.7, b=0.3), classed("a", a=0.7 + 1e-10, b=0.3), True),
        (classed("a", a=0.7, b=0.3), classed("a", a=0.69, b=0.31), False),
        (classed("a", a=0.5, b=0.5), classed("b", a=0.5, b=0.5), False),
        (classed("a", a=1.0), classed("a"), False),
        ({"prediction": "2.0"}, {"prediction": 2.0}, False),
        ([{"prediction": 1.0}], [], False),
    ],
)
def test_answers_agree_up_to_the_last_digits(one: Any, other: Any, agrees: bool) -> None:
    assert agree(one, other) is agrees


def test_rows_are_json_by_the_type_of_their_cells() -> None:
    table = pd.DataFrame(
        {
            "number": [1.5, np.inf, np.nan],
            "whole": np.array([2**60 + 1, 2, 3]),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "word": ["$1", None, "x"],
            "when": pd.to_datetime(["2024-02-03T10:00", None, "2024-02-04"], format="ISO8601"),
        }
    )
    assert json.loads(json.dumps(rows_of_requests(table))) == [
        {"number": 1.5, "whole": 2**60 + 1, "flag": True, "word": "$1", "when": "2024-02-03T10:00:00"},
        {"number": None, "whole": 2, "flag": None, "word": None, "when": None},
        {"number": None, "whole": 3, "flag": False, "word": "x", "when": "2024-02-04"},
    ]


def test_cells_that_json_cannot_hold_are_text_or_seconds() -> None:
    table = pd.DataFrame({"whole": [2**63, 10**400], "took": pd.to_timedelta([90, 0.5], unit="s")}, dtype=object)
    assert rows_of_requests(table) == [{"whole": str(2**63), "took": 90.0}, {"whole": str(10**400), "took": 0.5}]


def test_a_slow_endpoint_gets_the_least_number_of_requests() -> None:
    assert list(in_time(range(9), seconds=-1.0, least=3)) == [0, 1, 2] and len([*in_time(range(9))]) == 9
