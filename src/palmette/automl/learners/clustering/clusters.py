"""Clusters numbered by size, for training rows and new rows."""

import warnings
import zlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

NOISE = 0.5  # largest share of rows that may be outside of all dense regions


@dataclass(eq=False, repr=False)
class NumberedClusters(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Numbers the clusters of an estimator by size, 0 the largest; a new row joins the nearest training row's cluster.

    An estimator that has a `predict` method assigns new rows itself.
    """

    estimator: Any  # a clustering estimator of scikit-learn, or a mixture
    # share of the variance that principal components keep; None for all columns as they are
    variance: float | None = None
    most_rows: int = 5_000  # most rows to divide; the other rows join the clusters of these
    random_state: int = 0  # seed that chooses those rows

    def fit(self, X: Any, y: Any = None) -> Self:
        """Divides the rows; raises ValueError where all rows are in one cluster, or most rows are in none."""
        X = validate_data(self, X, dtype="float64", ensure_min_samples=2)
        self.directions_ = PCA(self.variance, svd_solver="full").fit(X) if self.variance else None
        self.estimator_ = clone(self.estimator)
        points = self._points(X)
        if hasattr(self.estimator, "predict"):
            self.estimator_.fit(points)
        else:
            self._fit_nearest(points)
        found = self._found(points)
        counts = np.bincount(found)
        if (counts > 0).sum() < 2:
            raise ValueError("all rows are in one cluster")
        self.order_ = np.argsort(-counts, kind="stable")
        self.labels_ = self._numbered(found)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Returns the cluster of each row (n,)."""
        check_is_fitted(self, "order_")
        points = self._points(validate_data(self, X, dtype="float64", reset=False))
        return self._numbered(self._found(points))

    def _points(self, X: np.ndarray) -> np.ndarray:
        return X if self.directions_ is None else self.directions_.transform(X)

    def _numbered(self, found: np.ndarray) -> np.ndarray:
        number = np.arange(max(len(self.order_), found.max() + 1))  # a cluster without training rows keeps its number
        number[self.order_] = np.arange(len(self.order_))
        return number[found]

    def _fit_nearest(self, points: np.ndarray) -> None:
        chosen = np.sort(np.random.default_rng(self.random_state).permutation(len(points))[: self.most_rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # unconnected parts of the graph are clusters, too
            labels = self.estimator_.fit(points[chosen]).labels_
        noise = float((labels < 0).mean())
        if noise > NOISE:
            raise ValueError(f"{noise:.0%} of the rows are in no cluster")
        self.known_ = labels[labels >= 0]
        self.nearest_ = NearestNeighbors(n_neighbors=1).fit(points[chosen][labels >= 0])

    def _found(self, points: np.ndarray) -> np.ndarray:
        if hasattr(self, "nearest_"):
            return self.known_[self.nearest_.kneighbors(points, return_distance=False)[:, 0]]
        return np.asarray(self.estimator_.predict(points))


@dataclass(eq=False, repr=False)
class RandomClusters(ClusterMixin, BaseEstimator):
    """Assigns each row to a random cluster by its checksum: the baseline for other models."""

    n_clusters: int = 2
    random_state: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        self.labels_ = self._drawn(validate_data(self, X, dtype="float64"))
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._drawn(validate_data(self, X, dtype="float64", reset=False))

    def _drawn(self, X: np.ndarray) -> np.ndarray:
        sums = [zlib.crc32(np.ascontiguousarray(row).tobytes(), self.random_state) for row in X]
        return np.array([value % self.n_clusters for value in sums], dtype=int)
