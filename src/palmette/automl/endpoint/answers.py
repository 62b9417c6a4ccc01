"""Rows as requests have them, and answers that are compared."""

from __future__ import annotations

import datetime as dt
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
    made = {name: [plain(value, kind) for value in rows[name]] for name, kind in kinds.items()}
    return [dict(zip(made, values, strict=True)) for values in zip(*made.values(), strict=True)]


def plain(value: Any, kind: str = "") -> str | bool | float | None:
    """A cell as JSON; a truth value in a column of words as the word."""
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower() if kind in ("categorical", "text") else bool(value)
    if isinstance(value, int | np.integer):
        whole = int(value)
        return whole if abs(whole) < EXACT else str(whole)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dt.timedelta | np.timedelta64):
        return pd.Timedelta(value).total_seconds()
    if isinstance(value, bytes | dict | list | tuple | np.ndarray):
        from palmette.automl.data.values import text_of

        return text_of(value)
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def answers_of(made: Predictions) -> list[Answer]:
    """Predictions as the answers to single rows."""
    if made.probabilities is None:
        return [Answer(float(value), {}) for value in made.values]
    chances = [dict(zip(made.classes, map(float, row), strict=True)) for row in made.probabilities]
    return [Answer(str(value), row) for value, row in zip(made.values, chances, strict=True)]
