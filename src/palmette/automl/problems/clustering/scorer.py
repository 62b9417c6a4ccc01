"""Scores clusters by labels, or on a matrix of the rows that all candidates share: the features of plain k-means.

Numbers are standardised and clipped at three standard deviations, so that a few outliers do not decide. Two different
categories are half as far apart as two rows are in a number on average (Huang, *Extensions to the k-means algorithm*,
1998). With more weight, categories alone would divide the rows: all rows of a category coincide, so more and more
clusters of fewer and fewer categories would score better. A column of texts or files is encoded as the main directions
of its embeddings, and weighs as much as three numbers.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.calls import Call, build, function_step, pipeline
from palmette.automl.candidates import Blueprint, Candidate, ColumnUse
from palmette.automl.composition import COLUMNS, ORDER, embedding_encoder, encoder_of, facts_of, reader_of, readers_of
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.kinds import STRUCTURE
from palmette.automl.measure.intervals import ScoreInterval
from palmette.automl.measure.metrics import Floats, Metric, Predictions, score
from palmette.automl.measure.scorer import Scorer

DIRECTIONS, WEIGHT = 10, 3.0  # most directions of embeddings, and their variance in total
PLAIN = Candidate(name="kmeans", learner="kmeans", derived=False)


def matrix_of(train: pd.DataFrame, blueprint: Blueprint, rows: pd.DataFrame) -> Floats:
    """Encodes rows by the values of the training rows, as (n, columns of the matrix)."""
    facts, parts = facts_of(blueprint), list[Floats]()
    if known := tuple(one for one in blueprint.columns if one.kind in ORDER):
        plain = blueprint.model_copy(update={"problem": "clustering", "columns": known, "derived": ()})
        steps = pipeline(("columns", reader_of(plain)), ("features", encoder_of(PLAIN, plain)))
        parts.append(np.asarray(build(steps).fit(train).transform(rows), dtype=float))
    cells = (one for one in blueprint.columns if one.kind not in {*ORDER, *STRUCTURE})
    parts += [_directions(one, facts, tuple(train[one.name]), tuple(rows[one.name])) for one in cells]
    return np.hstack(parts)


@lru_cache(maxsize=8)
def _directions(column: ColumnUse, facts: DataFacts, learnt: tuple[object, ...], asked: tuple[object, ...]) -> Floats:
    """Encodes the cells `asked` (n,) as the main directions (n, d) of the embeddings of the cells `learnt`."""
    from sklearn.decomposition import PCA

    read = build(function_step(f"{COLUMNS}.read_columns", readers=readers_of([column])))
    encoder = embedding_encoder(column.kind, facts)
    made = encoder.transformer([column], "dense", facts) if encoder else None
    assert isinstance(made, Call), f"no encoder of kind {column.kind} is installed"
    transformer = build(made)

    def encoded(cells: tuple[object, ...], encode: Callable[[pd.DataFrame], Any]) -> Floats:
        frame = pd.DataFrame({column.name: pd.Series(cells, dtype=object)})
        return np.asarray(encode(read.fit_transform(frame)), dtype=float)

    known = encoded(learnt, transformer.fit_transform)
    others = known if asked == learnt else encoded(asked, transformer.transform)
    directions = PCA(min(DIRECTIONS, *known.shape), random_state=0).fit(known)
    spread = float(np.sqrt(directions.explained_variance_.sum())) or 1.0
    return np.asarray(directions.transform(others) * (np.sqrt(WEIGHT) / spread))


MOST_ROWS = 2_000  # most rows whose silhouette is computed
ROUNDS = 200  # bootstrap resamples of an interval
BLOCKS = 20  # blocks of a jackknife
UNSTABLE = 1e9  # penalty of unstable clusters
ALIKE = 0.5
"""Adjusted Rand index, between models with and without a half of the rows, below which clusters are unstable."""
LARGEST = 0.95  # largest share of the rows in one cluster
SMALLEST = 0.1  # smallest size of a cluster, as a share of the average size


class ClusterScorer(Scorer):
    """Compares clusterings of the same rows.

    The outputs of a candidate are (n, 2): the cluster of each row in the model of all rows, and in a model that was
    fitted without the row's half.
    """

    blends = False  # the cluster numbers of different models have no relation
    measured = "on the training rows"

    def __init__(self, metric: Metric, truth: NDArray[Any], seed: int, folds: NDArray[np.int64] | None = None) -> None:
        """`truth` is (n, d), the matrix of the rows, or (n,), their labels as numbers, negative where unknown; `folds`
        (n,) is the half of each row; None for a single model.
        """
        self.metric, self._folds = metric, np.zeros(len(truth), np.int64) if folds is None else folds
        order = np.random.default_rng(seed).permutation(len(truth))
        order = order[truth[order] >= 0] if metric.needs == "groups" else order
        self._rows = np.sort(order[:MOST_ROWS] if metric.name == "silhouette" else order)
        self._truth = truth[self._rows]
        places = np.random.default_rng(seed).permutation(len(self._rows))
        blocks = np.array_split(places, max(1, min(BLOCKS, len(places))))
        self._without = [np.setdiff1d(places, block) for block in blocks]

    def utility(self, outputs: Floats) -> float:
        """Returns the score, negative where less is better; unstable clusters score below all stable ones."""
        return self._sign * self.score(outputs) - (0.0 if agreement(outputs, self._folds) >= ALIKE else UNSTABLE)

    def predictions(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> Predictions:
        return Predictions(outputs[:, 0].astype(np.int64))

    def score(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> float:
        """Returns NaN where the clusters have no value of the metric."""
        if self.metric.name == "silhouette":
            return float(self._parts(outputs).mean())
        return self._value(self._clusters(outputs), slice(None))

    def interval(self, outputs: Floats, class_weights: tuple[float, ...] | None = None) -> ScoreInterval:
        found, is_up = _interval(self._parts(outputs)), self.metric.greater_is_better
        bounds = (found.low, min(found.high, self.metric.perfect)) if is_up else (max(found.low, 0.0), found.high)
        return ScoreInterval(low=bounds[0], high=bounds[1])

    def gain(self, outputs: Floats, other: Floats) -> ScoreInterval:
        return _interval(self._sign * (self._parts(outputs) - self._parts(other)))

    @property
    def _sign(self) -> int:
        return 1 if self.metric.greater_is_better else -1

    @cached_property
    def _distances(self) -> Floats:
        from sklearn.metrics import pairwise_distances

        return np.asarray(pairwise_distances(self._truth))

    def _clusters(self, outputs: Floats) -> NDArray[np.int64]:
        return np.asarray(outputs[self._rows, 0], dtype=np.int64)

    def _value(self, clusters: NDArray[np.int64], rows: NDArray[np.intp] | slice) -> float:
        some = clusters[rows]
        if self.metric.needs == "distances" and len(np.unique(some)) in (1, len(some)):
            return float("nan")
        return score(self.metric, self._truth[rows], Predictions(some))

    def _parts(self, outputs: Floats) -> Floats:
        """Returns values whose mean is the score, and whose spread is its uncertainty.

        These are silhouettes of rows, 0 for a single cluster and if each row is a cluster. Of other metrics they are
        pseudo-values of a jackknife: rows repeated by a bootstrap would make clusters look denser.
        """
        from sklearn.metrics import silhouette_samples

        clusters = self._clusters(outputs)
        if self.metric.name != "silhouette":
            without = np.array([self._value(clusters, rows) for rows in self._without])
            changes = np.nan_to_num(np.nanmean(without) - without) if np.isfinite(without).any() else 0 * without
            return np.asarray(self._value(clusters, slice(None)) + (len(without) - 1) * changes)
        if len(np.unique(clusters)) in (1, len(clusters)):
            return np.zeros(len(clusters))
        return np.asarray(silhouette_samples(self._distances, clusters, metric="precomputed"))


def _interval(values: Floats, seed: int = 0) -> ScoreInterval:
    """Returns the interval of the mean of independent values."""
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(ROUNDS)]
    low, high = np.percentile(means, [2.5, 97.5])
    return ScoreInterval(low=float(low), high=float(high))


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
