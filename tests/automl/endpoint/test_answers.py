"""Answers that are the same up to the last digits, and rows as JSON."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pandas", reason="the packages of AutoML are not installed")

import numpy as np
import pandas as pd

from palmette.automl.endpoint import Answer, rows_of_requests


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [
        (Answer(2.0, {}), Answer(2.0 + 1e-9, {}), True),
        (Answer(2.0, {}), Answer(2.0001, {}), False),
        (Answer("a", {"a": 0.7, "b": 0.3}), Answer("a", {"a": 0.7 + 1e-10, "b": 0.3}), True),
        (Answer("a", {"a": 0.7, "b": 0.3}), Answer("a", {"a": 0.69, "b": 0.31}), False),
        (Answer("a", {"a": 0.5, "b": 0.5}), Answer("b", {"a": 0.5, "b": 0.5}), False),
        (Answer("a", {"a": 1.0}), Answer("a", {}), False),
        (Answer("2.0", {}), Answer(2.0, {}), False),
    ],
)
def test_answers_agree_up_to_the_last_digits(one: Answer, other: Answer, agrees: bool) -> None:
    assert one.agrees(other) is agrees and other.agrees(one) is agrees


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
        {"number": None, "whole": 3, "flag": False, "word": "x", "when": "2024-02-04T00:00:00"},
    ]


def test_cells_that_json_cannot_hold_are_text_or_seconds() -> None:
    table = pd.DataFrame({"whole": [2**63, 10**400], "took": pd.to_timedelta([90, 0.5], unit="s")}, dtype=object)
    assert rows_of_requests(table) == [{"whole": str(2**63), "took": 90.0}, {"whole": str(10**400), "took": 0.5}]
