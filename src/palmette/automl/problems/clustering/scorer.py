"""Scores clusters without labels, on a matrix of the rows that all candidates share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palmette.automl.measure import Metric, Predictions, ScoreInterval, metric_of
from palmette.automl.measure.metrics import Floats

MOST_ROWS = 2_000
"""Most rows whose silhouette is computed."""
ROUNDS = 200
"""Bootstrap resamples of an interval."""
ALIKE = 0.5
"""Adjusted Rand index, between models with and without a half of the rows, below which clusters are unstable."""
LARGEST = 0.95
"""Largest share of the rows in one cluster."""
SMALLEST = 0.1
"""Smallest size of a cluster, as a share of the average size."""


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
        return silhouettes(self._distances, outputs[self._rows, 0].astype(np.int64))


def silhouettes(distances: Floats, clusters: NDArray[np.int64]) -> Floats:
    """Returns the silhouette of each row (n,) from distances (n, n); 0 for a single row or a single cluster.

    Rousseeuw: *Silhouettes*, Journal of Computational and Applied Mathematics 20, 1987.
    """
    known, place = np.unique(clusters, return_inverse=True)
    if len(known) < 2:
        return np.zeros(len(clusters))
    counts = np.bincount(place)
    sums = distances @ np.eye(len(known))[place]
    rows = np.arange(len(place))
    within = sums[rows, place] / np.maximum(counts[place] - 1, 1)
    means = sums / counts
    means[rows, place] = np.inf
    beside = means.min(axis=1)
    widest = np.maximum(np.maximum(within, beside), 1e-300)
    return np.where(counts[place] > 1, (beside - within) / widest, 0.0)


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
