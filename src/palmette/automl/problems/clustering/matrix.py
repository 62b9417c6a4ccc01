"""The matrix in which clusters are scored: the same for all candidates, whatever features a model uses.

Numbers, and timestamps as days, are standardised by the training rows and clipped at three standard deviations, so
that a few outliers do not decide; missing values become the mean. Each of the most frequent categories, and of the
boolean values, has a column of 0 and 0.5: two different categories are half as far apart as two rows are in a number
on average (Huang, *Extensions to the k-means algorithm*, 1998). With more weight, categories alone would divide the
rows: all rows of a category coincide, so more and more clusters of fewer and fewer categories would score better. A
column of texts or files is encoded as the main directions of its embeddings, and weighs as much as three numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from palmette.automl.calls import Call, build, function_step
from palmette.automl.candidates import Blueprint, ColumnUse
from palmette.automl.composition import COLUMNS, ORDER, embedding_encoder, facts_of, readers_of
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.measure.metrics import Floats

if TYPE_CHECKING:
    import pandas as pd

FAR = 3.0
"""Standard deviations at which numbers are clipped."""
NAMED = 0.5
"""Value of a row in the column of its category."""
NAMES = 30
"""Most categories per column, by frequency."""
DIRECTIONS, WEIGHT = 10, 3.0
"""Most directions of embeddings, and their variance in total."""


class Matrix:
    """Means, deviations and categories of the training rows, which also encode other rows."""

    def __init__(self, rows: pd.DataFrame, blueprint: Blueprint) -> None:
        columns, self._facts = blueprint.columns, facts_of(blueprint)
        self._cells = {one: tuple(rows[one.name]) for one in columns if one.kind not in ORDER}
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
        parts += [_directions(one, self._facts, learnt, tuple(rows[one.name])) for one, learnt in self._cells.items()]
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


@lru_cache(maxsize=8)
def _directions(column: ColumnUse, facts: DataFacts, learnt: tuple[object, ...], asked: tuple[object, ...]) -> Floats:
    """Encodes the cells `asked` (n,) as the main directions (n, d) of the embeddings of the cells `learnt`."""
    import pandas as pd
    from sklearn.decomposition import PCA

    read = build(function_step(f"{COLUMNS}.read_columns", readers=readers_of([column])))
    encoder = embedding_encoder(column.kind, facts)
    made = encoder.transformer([column], "dense", facts) if encoder else None
    assert isinstance(made, Call), f"no encoder of kind {column.kind} is installed"
    cells = (pd.DataFrame({column.name: pd.Series(part, dtype=object)}) for part in (learnt, asked))
    transformer = build(made)
    known, others = (
        np.asarray(step(read.fit_transform(part)), dtype=float)
        for step, part in zip((transformer.fit_transform, transformer.transform), cells, strict=True)
    )
    directions = PCA(min(DIRECTIONS, *known.shape), random_state=0).fit(known)
    spread = float(np.sqrt(directions.explained_variance_.sum())) or 1.0
    return np.asarray(directions.transform(others) * (np.sqrt(WEIGHT) / spread))


def _mean(values: Floats) -> Floats:
    """Returns the mean of each column (d,) over present values; 0 if there are none."""
    present = ~np.isnan(values)
    total = np.where(present, values, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def _frequent(values: pd.Series) -> list[str]:
    counts = values.dropna().astype(str).value_counts()
    return sorted(counts.index, key=lambda name: (-counts[name], name))[:NAMES]
