"""Nodes with their graph, and the estimators that learn from them.

A model is fitted on the whole graph, in which some nodes have a known class. A row to predict is a new node: it
receives values from its neighbours and sends none to the graph, so its prediction depends on that row, the graph, and
the rows beside it that are linked to it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone

from palmette.automl.encoders.columns import ColumnError, text_of
from palmette.automl.learners.wrappers import ProbabilityClassifier


@dataclass(eq=False)
class Nodes:
    """Selected nodes of a graph; indexing selects nodes and keeps the whole graph."""

    rows: Any  # the typed columns, or the features, of all nodes; those of the new nodes if there is a `graph`
    links: Any  # (m, m) sparse: row i has a 1 for each neighbour; (k, m + k) for k new nodes, which come last
    places: np.ndarray  # (n,): positions of the selected nodes among the rows
    graph: "Nodes | None" = None  # the m nodes that new nodes are linked to; None if these are the nodes of the graph

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, chosen: Any) -> "Nodes":
        return Nodes(self.rows, self.links, self.places[chosen], self.graph)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.places), self.rows.shape[1]

    @property
    def own(self) -> pd.DataFrame:
        """The typed columns of the selected nodes."""
        return self.rows.iloc[self.places]

    @property
    def scale(self) -> Any:
        """(m, m) sparse, diagonal: one over the root of the number of neighbours, with the node itself."""
        return sparse.diags_array(1 / np.sqrt(1 + np.asarray(self.links.sum(axis=1)).ravel()))

    @cached_property
    def averaging(self) -> Any:
        """(m, m) sparse: averages values over a node and its neighbours, symmetrically normalised."""
        return (self.scale @ (self.links + sparse.eye_array(self.links.shape[0])) @ self.scale).tocsr()

    @property
    def joined(self) -> "Nodes":
        """New nodes as nodes of one graph with the others, to which they send nothing."""
        assert self.graph
        rows = sparse.vstack([self.graph.rows, self.rows], format="csr")
        links = self.graph.links.copy()
        links.resize(links.shape[0], self.links.shape[1])
        return Nodes(rows, sparse.vstack([links, self.links], format="csr"), self.places + links.shape[0])


class GraphAveraging:
    """Averages values of all nodes of a graph, and keeps these values for new nodes."""

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.kept = matrix, list[Any]()

    def __matmul__(self, values: Any) -> Any:
        self.kept.append(values)
        return self.matrix @ values


class NewAveraging:
    """Averages values of new nodes with those that were kept of their neighbours in the graph."""

    def __init__(self, own: Any, links: Any, kept: Iterable[Any]) -> None:
        self.own, self.links, self.kept = own, links, iter(kept)

    def __matmul__(self, values: Any) -> Any:
        return self.own @ values + self.links @ next(self.kept)


class NodeModel:
    """Computes outputs of nodes by `_outputs(rows, averaging)`, where nodes meet in `averaging @ values` only.

    What the nodes of a graph contribute does not depend on new nodes: it is computed once, at the first new node.
    """

    def _outputs(self, rows: Any, averaging: Any) -> Any:
        raise NotImplementedError

    def _of_nodes(self, X: Nodes) -> Any:
        """Returns the outputs of the selected nodes."""
        if X.graph is None:
            return self._outputs(self._matrix(X.rows), self._matrix(X.averaging))[X.places]
        graph, kept = self.__dict__.get("_known", (None, []))
        if graph is not X.graph:
            every = GraphAveraging(self._matrix(X.graph.averaging))
            self._outputs(self._matrix(X.graph.rows), every)
            kept = every.kept
            self._known = X.graph, kept
        count, size = X.links.shape[0], X.graph.links.shape[0]
        own = X.scale @ (X.links[:, size:] + sparse.eye_array(count)) @ X.scale
        others = X.scale @ X.links[:, :size] @ X.graph.scale
        averaging = NewAveraging(self._matrix(own), self._matrix(others), kept)
        return self._outputs(self._matrix(X.rows), averaging)[X.places]

    def _matrix(self, matrix: Any) -> Any:
        """Returns a sparse matrix as `_outputs` takes it."""
        return sparse.csr_array(matrix)


def averaged(rows: Any, averaging: Any, hops: Sequence[int]) -> Any:
    """Averages features over neighbours so many times; those of several counts are concatenated."""
    parts = []
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
    """Returns a matrix (n, size), sparse, with a 1 for each end of the edges of n nodes."""
    starts = np.repeat(np.arange(len(ends)), [len(some) for some in ends])
    columns = np.array([end for some in ends for end in some], dtype=int)
    return sparse.csr_array((np.ones(len(columns)), (starts, columns)), shape=(len(ends), size))


def neighbours(value: Any) -> tuple[str, ...] | None:
    """Reads ids of neighbours from a list, a JSON list, or a text separated by blanks; None if there are none."""
    if not isinstance(value, list) and (pd.isna(value) or value == ""):
        return None
    text = "" if isinstance(value, list) else text_of(value)
    names = value if isinstance(value, list) else json.loads(text) if text.startswith("[") else re.split(r"\s+", text)
    return tuple(dict.fromkeys(text_of(one) for one in names)) or None


@dataclass(eq=False, repr=False)
class NodeFeatures(NodeModel, BaseEstimator):
    """Encodes the columns of nodes; without columns, a node of the graph is a feature of its own."""

    encoder: Any  # a transformer of typed columns
    graph: bool = False  # whether to return the features of all nodes, for models that look at neighbours
    hops: int = 0  # of the features of the selected nodes: how many times they are averaged over neighbours

    def fit(self, X: Nodes, y: Any = None) -> Self:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Nodes, y: Any = None) -> Any:
        self.encoder_ = clone(self.encoder)
        made = self.encoder_.fit_transform(X.own, y)
        if not self.graph and not self.hops:
            return made
        rows = sparse.csr_array(self.encoder_.transform(X.rows))
        rows = rows if rows.shape[1] else sparse.eye_array(len(X.rows), format="csr")
        self.nodes_ = Nodes(rows, X.links, X.places)
        return self._with_graph(self.nodes_)

    def transform(self, X: Nodes) -> Any:
        if not self.graph and not self.hops:
            return self.encoder_.transform(X.own)
        if X.graph is None:
            return self._with_graph(Nodes(self.nodes_.rows, X.links, X.places))
        rows = sparse.csr_array(self.encoder_.transform(X.rows))
        rows.resize(len(X.rows), self.nodes_.rows.shape[1])
        return self._with_graph(Nodes(rows, X.links, X.places, self.nodes_))

    def _with_graph(self, nodes: Nodes) -> Any:
        return nodes if self.graph else self._of_nodes(nodes).toarray()

    def _outputs(self, rows: Any, averaging: Any) -> Any:
        return averaged(rows, averaging, [self.hops])


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
        self.rows_ = X.reset_index(drop=True)
        self.places_ = {name: place for place, name in enumerate(self.rows_[self.node])}
        self.links_ = linked(self.rows_[self.node], self.rows_[self.neighbours])
        self.estimator_ = clone(self.estimator)
        return Nodes(self.rows_, self.links_, places)

    def _nodes(self, X: pd.DataFrame) -> Nodes:
        """Links the rows, as new nodes, to the graph and to one another."""
        rows, count = self._completed(X), len(self.rows_)
        new = {name: count + row for row, name in enumerate(rows[self.node]) if name not in self.places_}
        own = [self._place(name, new) for name in rows[self.node]]
        lists = [{self._place(name, new) for name in one or ()} for one in rows[self.neighbours]]
        for place, ends in zip(own, lists, strict=True):
            for end in [one for one in ends if one >= count <= place]:
                lists[end - count].add(place)
        links = edges_from([sorted(ends - {place}) for ends, place in zip(lists, own, strict=True)], count + len(rows))
        return Nodes(rows, links, np.arange(len(rows)), Nodes(self.rows_, self.links_, np.arange(count)))

    def _completed(self, X: pd.DataFrame) -> pd.DataFrame:
        """Fills missing values of rows with those of their nodes in the graph."""
        places = np.array([self.places_.get(name, -1) for name in X[self.node]], dtype=int)
        absent = X.isna() | (X == "")
        empty = absent.drop(columns=self.node).all(axis=1)
        if (unknown := X[self.node][(places < 0) & empty]).size:
            message = f"The node {unknown.iloc[0]!r} is not in the graph, and no values of it are given."
            raise ColumnError({self.node: message})
        return X.mask(absent & (places >= 0)[:, None], self.rows_.iloc[places].set_axis(X.index))

    def _place(self, name: str, new: Mapping[str, int]) -> int:
        place = self.places_.get(name, new.get(name))
        if place is None:
            message = f"The neighbour {name!r} is not in the graph."
            raise ColumnError({self.neighbours: message})
        return place


class GraphClassifier(ProbabilityClassifier, _OnGraph):
    """Classifies the nodes of a graph; rows to fit have a missing target if the class is unknown."""

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
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

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.fit_transform(X)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> np.ndarray:
        nodes = self._kept(X, np.arange(len(X)))
        return np.asarray(self.estimator_.fit_transform(nodes))

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.estimator_.transform(self._nodes(X)))


@dataclass(eq=False, repr=False)
class PropagatedClassifier(NodeModel, ProbabilityClassifier, MetaEstimatorMixin, BaseEstimator):
    """Classifies nodes by features averaged over neighbours (SGC: Wu et al., 2019)."""

    estimator: Any  # a classifier of the averaged features
    hops: Sequence[int] = (2,)  # how many times to average; the features of several counts are concatenated

    def fit(self, X: Nodes, y: Any) -> Self:
        self.estimator_ = clone(self.estimator).fit(averaged(X.rows, X.averaging, self.hops)[X.places], y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Nodes) -> np.ndarray:
        return np.asarray(self._of_nodes(X))

    def _outputs(self, rows: Any, averaging: Any) -> Any:
        return self.estimator_.predict_proba(averaged(rows, averaging, self.hops))


@dataclass(eq=False, repr=False)
class SmoothedClassifier(PropagatedClassifier):
    """Also averages the probabilities over neighbours, starting from known classes (Huang et al., 2021)."""

    steps: int = 10  # how many times to average the probabilities
    share: float = 0.85  # weight of the neighbours; the rest is the node's own

    def fit(self, X: Nodes, y: Any) -> Self:
        super().fit(X, y)
        self.known_ = X.places, (np.asarray(y)[:, None] == self.classes_[None, :]).astype(float)
        return self

    def _outputs(self, rows: Any, averaging: Any) -> Any:
        start = np.array(super()._outputs(rows, averaging))
        if not isinstance(averaging, NewAveraging):
            places, known = self.known_
            start[places] = known
        made = start
        for _ in range(self.steps):
            made = self.share * (averaging @ made) + (1 - self.share) * start
        return made / made.sum(axis=1, keepdims=True)
