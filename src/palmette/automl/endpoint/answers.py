"""Rows as requests have them, and answers that are compared."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.automl.measure import Predictions

if TYPE_CHECKING:
    import pandas as pd

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""By which two answers to one row may differ: sums are taken in another order for many rows than for one."""
EXACT = 2**63
"""From which on not every reader of JSON takes a whole number; its digits are handed over."""

Row = dict[str, str | bool | float | None]


class Answer(NamedTuple):
    """What a model predicts for a row."""

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


def rows_of_requests(rows: pd.DataFrame) -> list[Row]:
    """Rows as JSON objects; what is missing or infinite is None."""
    columns = {str(name): [plain(value) for value in rows[name]] for name in rows}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def plain(value: Any) -> str | bool | float | None:
    """A cell as JSON."""
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        whole = int(value)
        return whole if abs(whole) < EXACT else str(whole)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dt.timedelta | np.timedelta64):
        return pd.Timedelta(value).total_seconds()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict | list | tuple | np.ndarray):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def answers_of(made: Predictions) -> list[Answer]:
    """Predictions as the answers to single rows."""
    if made.probabilities is None:
        return [Answer(float(value), {}) for value in made.values]
    chances = [dict(zip(made.classes, map(float, row), strict=True)) for row in made.probabilities]
    return [Answer(str(value), row) for value, row in zip(made.values, chances, strict=True)]
