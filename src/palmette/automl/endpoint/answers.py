"""Rows as requests have them, and what a project's `predict.py` says of rows in a file."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.sandbox import ExecutionResult, Limits, Sandbox, python_command

if TYPE_CHECKING:
    import pandas as pd

SECONDS = 600.0
"""For the prediction of a file."""
PROBABILITY = "probability_"
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""By which two answers to one row may differ: sums are taken in another order for many rows than for one."""

Row = dict[str, str | bool | float | None]


class Answer(NamedTuple):
    """What a model says of a row."""

    prediction: str | float
    probabilities: Mapping[str, float]
    """By class; empty where a number is predicted."""

    def agrees(self, other: Answer) -> bool:
        """Whether it is the same answer, up to the last digits."""
        if isinstance(self.prediction, str) or isinstance(other.prediction, str):
            return self.prediction == other.prediction and _near(self.probabilities, other.probabilities)
        return _near({"": self.prediction}, {"": other.prediction})


def _near(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() == other.keys() and all(
        math.isclose(value, other[name], rel_tol=RELATIVE, abs_tol=ABSOLUTE) for name, value in one.items()
    )


def rows_of_requests(rows: pd.DataFrame, kinds: Mapping[str, str]) -> list[Row]:
    """Rows as loaded, as JSON objects with the columns of `kinds`; what is missing or infinite is None."""
    made = {name: [_plain(value, kind) for value in rows[name]] for name, kind in kinds.items()}
    return [dict(zip(made, values, strict=True)) for values in zip(*made.values(), strict=True)]


def _plain(value: Any, kind: str) -> str | bool | float | None:
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower() if kind in ("categorical", "text") else bool(value)
    if isinstance(value, int | float | np.number):
        return float(value) if math.isfinite(value) else None
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def predict_file(sandbox: Sandbox, folder: Path, rows: Path, to: Path) -> ExecutionResult:
    """Has the project predict the rows of a file into a CSV file."""
    given = ("predict.py", "--model", "model", "--input", str(rows), "--output", str(to))
    limits = Limits(seconds=SECONDS, file_mb=8192)
    return sandbox.run(python_command(*given), cwd=folder, env={"PYTHONPATH": str(folder)}, limits=limits)


def predicted(path: Path, is_number: bool) -> list[Answer]:
    """The answers in a file that `predict.py` wrote, in the order of the rows.

    Raises:
        OSError, KeyError, ValueError: it is no such file.
    """
    with path.open(encoding="utf-8", newline="") as file:
        return [_answer(row, is_number) for row in csv.DictReader(file)]


def _answer(row: Mapping[str, str], is_number: bool) -> Answer:
    if is_number:
        return Answer(float(row["prediction"]), {})
    chances = {name.removeprefix(PROBABILITY): float(value) for name, value in row.items() if name != "prediction"}
    return Answer(row["prediction"], chances)
