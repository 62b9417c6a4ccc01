"""Rows as the harness sees them when it scores clusters: one matrix, whatever features a model uses.

Numbers, and instants as days, are standardised by the training rows and drawn in to three deviations, so that a few
far rows do not decide; what is missing is the mean. Each of the most frequent names, and of yes and no, has a column of
0 and 0.5: two different names are half as far apart as two rows are in a number on average (Huang, *Extensions to the
k-means algorithm*, 1998). More, and names would divide the rows on their own: all rows of a name lie on one point, so
ever more clusters of ever fewer names would look better. Free text has no place in it.
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
"""Standard deviations."""
NAMED = 0.5
"""Of a row that has a name, in the name's column."""
NAMES = 30
"""The most frequent ones of a column."""


class Matrix:
    """Means, deviations and names of the training rows, by which other rows are seen alike."""

    def __init__(self, rows: pd.DataFrame, columns: tuple[ColumnUse, ...]) -> None:
        self._numbers = [one.name for one in columns if one.kind in ("number", "datetime")]
        values = self._values(rows)
        with np.errstate(invalid="ignore"):
            self._mean, deviation = _mean(values), np.sqrt(_mean((values - _mean(values)) ** 2))
        self._deviation = np.where(deviation > 0, deviation, 1.0)
        named = (one.name for one in columns if one.kind in ("category", "boolean"))
        self._names: Mapping[str, list[str]] = {name: _frequent(rows[name]) for name in named}

    def of(self, rows: pd.DataFrame) -> Floats:
        """(n, columns of the matrix)."""
        numbers = (self._values(rows) - self._mean) / self._deviation
        parts = [np.clip(np.nan_to_num(numbers), -FAR, FAR)]
        for name, known in self._names.items():
            texts = rows[name].astype(str).to_numpy()
            parts.append((texts[:, None] == np.array(known, dtype=object)[None, :]) * NAMED)
        return np.hstack(parts)

    def _values(self, rows: pd.DataFrame) -> Floats:
        """(n, numbers): NaN where there is none."""
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
    """Of each column (d,), over the rows that have a value; 0 where none has."""
    present = ~np.isnan(values)
    total = np.where(present, values, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def _frequent(values: pd.Series) -> list[str]:
    counts = values.dropna().astype(str).value_counts()
    return sorted(counts.index, key=lambda name: (-counts[name], name))[:NAMES]
