"""Nodes with their graph, and the estimators that learn from them.

A model is fitted on the whole graph, in which some nodes have a known class. A row to predict is a new node: it
receives values from its neighbours and sends none, so its prediction depends on that row and the graph alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone

from palmette.automl.encoders.columns import ColumnError, text_of
from palmette.automl.learners.wrappers import ProbabilityClassifier


class Nodes:
    """Selected nodes of a graph; indexing selects nodes and keeps the whole graph.

    Args:
        rows: The typed columns, or the features, of all nodes but the first `before`.
        links: (m, m) sparse: row i has a 1 for each neighbour of node i.
        places: (n,): positions of the selected nodes.
        before: Number of nodes whose features the encoder has kept.
    """

    def __init__(self, rows: Any, links: Any, places: np.ndarray, before: int = 0) -> None:
        self.rows, self.links, self.places, self.before = rows, links, places, before

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, chosen: Any) -> Nodes:
        return Nodes(self.rows, self.links, self.places[chosen], self.before)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.places), self.rows.shape[1]

    @property
    def nbytes(self) -> int:
        return int(self.rows.data.nbytes + self.links.data.nbytes) if sparse.issparse(self.rows) else 0

    @property
    def own(self) -> pd.DataFrame:
        """The typed columns of the selected nodes."""
        return self.rows.iloc[self.places - self.before]

    @property
    def averaging(self) -> Any:
        """(m, m) sparse: averages values over a node and its neighbours, symmetrically normalised."""
        links = (self.links + sparse.eye_array(self.links.shape[0], format="csr")).tocsr()
        scale = sparse.diags_array(1 / np.sqrt(np.asarray(links.sum(axis=1)).ravel()))
        return (scale @ links @ scale).tocsr()


def averaged(nodes: Nodes, hops: Sequence[int]) -> Any:
    """Averages the features of all nodes over neighbours so many times; those of several counts are concatenated."""
    rows, averaging, parts = nodes.rows, nodes.averaging, []
    for hop in range(max(hops) + 1):
        rows = averaging @ rows if hop else rows
        parts += [rows] if hop in hops else []
    return sparse.hstack(parts, format="csr")


def linked(ids: Iterable[Any], neighbours: Iterable[Any]) -> Any:
    """Returns the symmetric adjacency matrix (n, n), sparse, without loops; unknown neighbours are left out."""
    place = {name: number for number, name in enumerate(ids)}
    lists = [[place[name] for name in one or () if name in place] for one in neighbours]
    links = edges_from([[end for end in ends if end != start] for start, ends in enumerate(lists)], len(lists))
    return links.maximum(links.T).minimum(1)


def edges_from(ends: Sequence[Sequence[int]], size: int) -> Any:
    """Returns a matrix (size, size), sparse, with a 1 for each end of the edges that start at the last nodes."""
    starts = np.repeat(np.arange(size - len(ends), size), [len(some) for some in ends])
    columns = np.array([end for some in ends for end in some], dtype=int)
    return sparse.csr_array((np.ones(len(columns)), (starts, columns)), shape=(size, size))


def neighbours(value: Any) -> tuple[str, ...] | None:
    """Reads ids of neighbours from a list, a JSON list, or a text separated by blanks; None if there are none."""
    if not isinstance(value, list) and (pd.isna(value) or value == ""):
        return None
    text = "" if isinstance(value, list) else text_of(value)
    names = value if isinstance(value, list) else json.loads(text) if text.startswith("[") else re.split(r"\s+", text)
    return tuple(dict.fromkeys(text_of(one) for one in names)) or None


@dataclass(eq=False, repr=False)
class NodeFeatures(BaseEstimator):
    """Encodes the columns of nodes."""

    encoder: Any  # a transformer of typed columns
    graph: bool = False  # whether to return the features of all nodes, for models that look at neighbours
    hops: int = 0  # of the features of the selected nodes: how many times they are averaged over neighbours

    def fit(self, X: Nodes, y: Any = None) -> NodeFeatures:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Nodes, y: Any = None) -> Any:
        self.encoder_ = clone(self.encoder)
        made = self.encoder_.fit_transform(X.own, y)
        if not self.graph and not self.hops:
            return made
        self.features_ = sparse.csr_array(self.encoder_.transform(X.rows))
        return self._of_graph(Nodes(self.features_, X.links, X.places))

    def transform(self, X: Nodes) -> Any:
        if not self.graph and not self.hops:
            return self.encoder_.transform(X.own)
        rows = self.features_
        if X.before:  # new nodes follow those of the fit
            rows = sparse.vstack([rows, sparse.csr_array(self.encoder_.transform(X.rows))], format="csr")
        return self._of_graph(Nodes(rows, X.links, X.places))

    def _of_graph(self, nodes: Nodes) -> Any:
        return nodes if self.graph else averaged(nodes, [self.hops])[nodes.places].toarray()


@dataclass(eq=False, repr=False)
class _OnGraph(MetaEstimatorMixin, BaseEstimator):
    """Keeps the graph of the rows that it is fitted to.

    A later row whose id is in the graph takes its missing values from that node; any other id is a new node.
    """

    estimator: Any  # an estimator of `Nodes`
    node: str  # the column of ids
    neighbours: str  # the column of the ids of neighbours

    def _kept(self, X: pd.DataFrame, places: np.ndarray) -> Nodes:
        """Keeps the rows, and returns the nodes at some places of them."""
        self.rows_ = X.reset_index(drop=True).copy()  # a copy is stored contiguously
        self.places_ = {name: place for place, name in enumerate(self.rows_[self.node])}
        self.links_ = linked(self.rows_[self.node], self.rows_[self.neighbours])
        self.estimator_ = clone(self.estimator)
        return Nodes(self.rows_, self.links_, places)

    def _nodes(self, X: pd.DataFrame) -> Nodes:
        """Appends the rows to the nodes of the graph."""
        rows, count = self._completed(X), len(self.rows_)
        own = rows[self.node].map(self.places_)
        lists = [{self._place(name) for name in one or ()} for one in rows[self.neighbours]]
        size = count + len(rows)
        links = edges_from([sorted(ends - {place}) for ends, place in zip(lists, own, strict=True)], size)
        stored = self.links_.tocoo()
        links += sparse.csr_array((stored.data, (stored.row, stored.col)), shape=(size, size))
        return Nodes(rows, links, np.arange(count, size), before=count)

    def _completed(self, X: pd.DataFrame) -> pd.DataFrame:
        """Fills missing values of rows with those of their nodes in the graph."""
        places = np.array([self.places_.get(name, -1) for name in X[self.node]], dtype=int)
        columns = {name: X[name].to_numpy() for name in X}
        absent = {name: pd.isna(one) | (one == "" if one.dtype == object else False) for name, one in columns.items()}
        empty = np.all([one for name, one in absent.items() if name != self.node], axis=0)
        if (unknown := X[self.node][(places < 0) & empty]).size:
            message = f"The node {unknown.iloc[0]!r} is not in the graph, and no values of it are given."
            raise ColumnError({self.node: message})
        filled = {name: gaps & (places >= 0) for name, gaps in absent.items()}
        filled = {name: one for name, one in filled.items() if one.any()}
        for name, one in filled.items():
            columns[name] = columns[name].copy()
            columns[name][one] = self.rows_[name].to_numpy()[places[one]]
        return pd.DataFrame(columns, index=X.index, copy=False) if filled else X

    def _place(self, name: str) -> int:
        if name not in self.places_:
            message = f"The neighbour {name!r} is not in the graph."
            raise ColumnError({self.neighbours: message})
        return self.places_[name]


class GraphClassifier(ProbabilityClassifier, _OnGraph):
    """Classifies the nodes of a graph; rows to fit have a missing target if the class is unknown."""

    def fit(self, X: pd.DataFrame, y: Any) -> GraphClassifier:
        target = np.asarray(y, dtype=object)
        known = np.flatnonzero(~pd.isna(target))
        nodes = self._kept(X, known)
        self.estimator_.fit(nodes, np.array([target[place] for place in known]))
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.estimator_.predict_proba(self._nodes(X)))


class GraphTransformer(TransformerMixin, _OnGraph):
    """Computes features of the nodes of a graph."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> GraphTransformer:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> np.ndarray:
        nodes = self._kept(X, np.arange(len(X)))
        return np.asarray(self.estimator_.fit_transform(nodes))

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.estimator_.transform(self._nodes(X)))


@dataclass(eq=False, repr=False)
class PropagatedClassifier(ProbabilityClassifier, MetaEstimatorMixin, BaseEstimator):
    """Classifies nodes by features averaged over neighbours (SGC: Wu et al., 2019)."""

    estimator: Any  # a classifier of the averaged features
    hops: Sequence[int] = (2,)  # how many times to average; the features of several counts are concatenated

    def fit(self, X: Nodes, y: Any) -> PropagatedClassifier:
        self.estimator_ = clone(self.estimator).fit(averaged(X, self.hops)[X.places], y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Nodes) -> np.ndarray:
        return np.asarray(self.estimator_.predict_proba(averaged(X, self.hops)[X.places]))


@dataclass(eq=False, repr=False)
class SmoothedClassifier(PropagatedClassifier):
    """Also averages the probabilities over neighbours, starting from known classes (Huang et al., 2021)."""

    estimator: Any  # a classifier of the averaged features
    hops: Sequence[int] = (0,)  # as in `PropagatedClassifier`
    steps: int = 10  # how many times to average the probabilities
    share: float = 0.85  # weight of the neighbours; the rest is the node's own

    def fit(self, X: Nodes, y: Any) -> SmoothedClassifier:
        super().fit(X, y)
        self.known_ = X.places, (np.asarray(y)[:, None] == self.classes_[None, :]).astype(float)
        return self

    def predict_proba(self, X: Nodes) -> np.ndarray:
        places, known = self.known_
        start = np.asarray(self.estimator_.predict_proba(averaged(X, self.hops)))
        start[places] = known
        made, averaging = start, X.averaging
        for _ in range(self.steps):
            made = self.share * (averaging @ made) + (1 - self.share) * start
        made = made[X.places]
        return np.asarray(made / made.sum(axis=1, keepdims=True))
