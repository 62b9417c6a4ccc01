"""Scores clusters without labels, on a matrix of the rows that all candidates share.

Numbers, and timestamps as days, are standardised by the training rows and clipped at three standard deviations, so
that a few outliers do not decide; missing values become the mean. Each of the most frequent categories, and of the
boolean values, has a column of 0 and 0.5: two different categories are half as far apart as two rows are in a number
on average (Huang, *Extensions to the k-means algorithm*, 1998). With more weight, categories alone would divide the
rows: all rows of a category coincide, so more and more clusters of fewer and fewer categories would score better. A
column of texts or files is encoded as the main directions of its embeddings, and weighs as much as three numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palmette.automl.calls import Call, build, function_step
from palmette.automl.candidates import Blueprint, ColumnUse
from palmette.automl.composition import COLUMNS, ORDER, embedding_encoder, facts_of, readers_of
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.measure import Metric, Predictions, ScoreInterval, metric_of
from palmette.automl.measure.metrics import Floats

if TYPE_CHECKING:
    import pandas as pd

FAR = 3.0  # standard deviations at which numbers are clipped
NAMED = 0.5  # value of a row in the column of its category
NAMES = 30  # most categories per column, by frequency
DIRECTIONS, WEIGHT = 10, 3.0  # most directions of embeddings, and their variance in total


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


MOST_ROWS = 2_000  # most rows whose silhouette is computed
ROUNDS = 200  # bootstrap resamples of an interval
ALIKE = 0.5
"""Adjusted Rand index, between models with and without a half of the rows, below which clusters are unstable."""
LARGEST = 0.95  # largest share of the rows in one cluster
SMALLEST = 0.1  # smallest size of a cluster, as a share of the average size


class ClusterScorer:
    """Compares clusterings of the same rows.

    The outputs of a candidate are (n, 2): the cluster of each row in the model of all rows, and in a model that was
    fitted without the row's half.
    """

    blends = False
    measured = "on the training rows"

    def __init__(self, matrix: Floats, folds: NDArray[np.int64], seed: int = 0) -> None:
        """`matrix` is (n, d); `folds` (n,) is the half of each row."""
        from sklearn.metrics import pairwise_distances

        self.metric: Metric = metric_of("silhouette", "clustering")
        self._folds = folds
        order = np.random.default_rng(seed).permutation(len(matrix))
        self._rows = np.sort(order[:MOST_ROWS])
        self._distances: Floats = pairwise_distances(matrix[self._rows])

    def utility(self, outputs: Floats) -> float:
        """Returns the silhouette; unstable clusters score below all stable ones."""
        return self.score(outputs) - (0.0 if agreement(outputs, self._folds) >= ALIKE else 2.0)

    def class_weights(self, outputs: Floats) -> None:
        """Returns None: clusters have no decision to adjust."""

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        return Predictions(outputs[:, 0].astype(np.int64))

    def score(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> float:
        return float(self._silhouettes(outputs).mean())

    def interval(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> ScoreInterval:
        return _interval(self._silhouettes(outputs))

    def gain(self, outputs: Floats, other: Floats) -> ScoreInterval:
        return _interval(self._silhouettes(outputs) - self._silhouettes(other))

    def shares(self, outputs: Sequence[Floats]) -> None:
        """Returns None: clusters have no weights."""

    def blended(self, outputs: Sequence[Floats], weights: Sequence[float]) -> Floats:
        """Not supported: the cluster numbers of different models have no relation."""
        raise NotImplementedError

    def stacked(self, outputs: Sequence[Floats]) -> Floats:
        """Not supported, for the same reason."""
        raise NotImplementedError

    def _silhouettes(self, outputs: Floats) -> Floats:
        """Returns the silhouette of each row (n,); 0 for a single cluster, and if each row is a cluster."""
        from sklearn.metrics import silhouette_samples

        clusters = outputs[self._rows, 0].astype(np.int64)
        if len(np.unique(clusters)) in (1, len(clusters)):
            return np.zeros(len(clusters))
        return np.asarray(silhouette_samples(self._distances, clusters, metric="precomputed"))


def agreement(outputs: Floats, folds: NDArray[np.int64]) -> float:
    """Returns the mean adjusted Rand index, over halves, of the model of all rows and the model without that half."""
    from sklearn.metrics import adjusted_rand_score

    halves = [outputs[folds == number].astype(np.int64) for number in np.unique(folds)]
    return float(np.mean([adjusted_rand_score(half[:, 0], half[:, 1]) for half in halves]))


def degenerate(clusters: NDArray[np.int64]) -> str:
    """Explains why clusters (n,) do not divide the rows; empty if they do."""
    counts = np.bincount(clusters)
    counts = counts[counts > 0]
    if len(counts) < 2:
        return "has all rows in one cluster"
    if counts.max() > LARGEST * len(clusters):
        return f"has {counts.max()} of {len(clusters)} rows in one cluster"
    if counts.min() < max(2, SMALLEST * len(clusters) / len(counts)):
        return f"has a cluster of {counts.min()} rows, of {len(clusters)} in {len(counts)} clusters"
    return ""


def _interval(values: Floats, seed: int = 0) -> ScoreInterval:
    """Returns the interval of the mean of independent rows."""
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(ROUNDS)]
    low, high = np.percentile(means, [2.5, 97.5])
    return ScoreInterval(low=float(low), high=float(high))
