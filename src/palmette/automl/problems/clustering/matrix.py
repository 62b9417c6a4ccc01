"""The matrix in which clusters are scored: the same for all candidates, whatever features a model uses.

Numbers, and timestamps as days, are standardised by the training rows and clipped at three standard deviations, so
that a few outliers do not decide; missing values become the mean. Each of the most frequent categories, and of the
boolean values, has a column of 0 and 0.5: two different categories are half as far apart as two rows are in a number
on average (Huang, *Extensions to the k-means algorithm*, 1998). With more weight, categories alone would divide the
rows: all rows of a category coincide, so more and more clusters of fewer and fewer categories would score better. Free
text is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from palmette.automl.candidates import ColumnUse
from palmette.automl.measure.metrics import Floats

if TYPE_CHECKING:
    import pandas as pd

FAR = 3.0
"""Standard deviations at which numbers are clipped."""
NAMED = 0.5
"""Value of a row in the column of its category."""
NAMES = 30
"""Most categories per column, by frequency."""


class Matrix:
    """Means, deviations and categories of the training rows, which also encode other rows."""

    def __init__(self, rows: pd.DataFrame, columns: tuple[ColumnUse, ...]) -> None:
        self._numbers = [one.name for one in columns if one.kind in ("number", "datetime")]
        values = self._values(rows)
        with np.errstate(invalid="ignore"):
            self._mean, deviation = _mean(values), np.sqrt(_mean((values - _mean(values)) ** 2))
        self._deviation = np.where(deviation > 0, deviation, 1.0)
        named = (one.name for one in columns if one.kind in ("category", "boolean"))
        self._names: Mapping[str, list[str]] = {name: _frequent(rows[name]) for name in named}

    def of(self, rows: pd.DataFrame) -> Floats:
        """Encodes rows as (n, columns of the matrix)."""
        numbers = (self._values(rows) - self._mean) / self._deviation
        parts = [np.clip(np.nan_to_num(numbers), -FAR, FAR)]
        for name, known in self._names.items():
            texts = rows[name].astype(str).to_numpy()
            parts.append((texts[:, None] == np.array(known, dtype=object)[None, :]) * NAMED)
        return np.hstack(parts)

    def _values(self, rows: pd.DataFrame) -> Floats:
        """Returns numbers (n, numbers); NaN for missing values."""
        import pandas as pd

        made = np.empty((len(rows), len(self._numbers)))
        for place, name in enumerate(self._numbers):
            column = rows[name]
            if pd.api.types.is_datetime64_any_dtype(column.dtype):
                days = column.dt.tz_localize(None) if column.dt.tz else column
                made[:, place] = (days - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1)
            else:
                made[:, place] = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
        return np.where(np.isfinite(made), np.clip(made, -1e100, 1e100), np.nan)


def _mean(values: Floats) -> Floats:
    """Returns the mean of each column (d,) over present values; 0 if there are none."""
    present = ~np.isnan(values)
    total = np.where(present, values, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def _frequent(values: pd.Series) -> list[str]:
    counts = values.dropna().astype(str).value_counts()
    return sorted(counts.index, key=lambda name: (-counts[name], name))[:NAMES]
