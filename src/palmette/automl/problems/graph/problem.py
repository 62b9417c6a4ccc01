"""The problems `node_classification` and `node_clustering`, whose models see the whole graph, but only some classes.

Every fit sees the columns and edges of all nodes, including the hold-out and unlabelled nodes. It sees the classes of
its training nodes only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from palmette.automl.calls import Call, build
from palmette.automl.candidates import Candidate, Ensembling, Strategy
from palmette.automl.composition import learner_named, reader_of
from palmette.automl.kinds import Kind
from palmette.automl.measure.metrics import Floats, Predictions
from palmette.automl.problems.classification import Classification
from palmette.automl.problems.clustering.problem import Clustering
from palmette.automl.problems.clustering.scorer import matrix_of
from palmette.automl.problems.problem import EnsembleMember, Problem, ReportData
from palmette.automl.profile import Profile
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec

if TYPE_CHECKING:
    from palmette.automl.learners.graph.nodes import Nodes

NODES = "palmette.automl.learners.graph.nodes"
HOPS = 2  # how many times clustering averages columns over neighbours
CLEAR = 0.1  # difference from chance above which neighbours count as alike, or as unlike


class OfNodes(Problem):
    """A problem whose rows are nodes of a graph."""

    needs: ClassVar[frozenset[Kind]] = frozenset({"node", "edges"})
    sees_all_rows: ClassVar[bool] = True
    no_onnx: ClassVar[str] = "each prediction depends on the whole graph"

    def inputs(self, frame: pd.DataFrame, context: pd.DataFrame | None) -> Nodes:
        """Returns the rows as nodes of the graph that they form with the context."""
        from palmette.automl.learners.graph.nodes import Nodes, linked

        whole = frame if context is None else pd.concat([frame, context], ignore_index=True)
        links = linked(whole[self._column("node")], whole[self._column("edges")])
        return Nodes(whole, links, np.arange(len(frame)))

    def nodes(self, rows: pd.DataFrame) -> Nodes:
        """Returns the nodes of untyped rows."""
        return self.inputs(build(reader_of(self.blueprint)).fit_transform(rows), None)

    @property
    def names(self) -> dict[str, str]:
        """The columns of ids, as arguments of estimators."""
        return {"node": self._column("node"), "neighbours": self._column("edges")}

    def _column(self, kind: Kind) -> str:
        return next(one.name for one in self.blueprint.columns if one.kind == kind)


class NodeClassification(OfNodes, Classification):
    """Learners of classification see the columns of nodes; learners of this problem also see the graph."""

    name: ClassVar[str] = "node_classification"

    @staticmethod
    def strategies(task: TaskSpec, profile: Profile) -> tuple[Strategy, ...]:  # noqa: ARG004 - as in every problem
        """Returns no class weights: the decision is adjusted instead."""
        return (Strategy(),)

    def encoder(self, columns: Call, candidate: Candidate) -> Call:
        sees_graph = self.name in learner_named(candidate.learner).problems
        return Call(f"{NODES}.NodeFeatures", {"encoder": columns, **({"graph": True} if sees_graph else {})})

    def decided(self, estimator: Call, class_weights: tuple[float, ...] | None) -> Call:
        return super().decided(Call(f"{NODES}.GraphClassifier", {"estimator": estimator, **self.names}), class_weights)

    def report_data(
        self, splits: DataSplits, made: Predictions | None, outputs: Mapping[str, Floats], best: str
    ) -> ReportData:
        """Adds the homophily of the training nodes."""
        facts = super().report_data(splits, made, outputs, best)
        found = homophily(self.nodes(splits.train), self.truth(splits.train))
        return replace(facts, limits=(*facts.limits, found))


class NodeClustering(OfNodes, Clustering):
    """Clusters nodes by their columns, averaged over neighbours."""

    name: ClassVar[str] = "node_clustering"

    def encoder(self, columns: Call, candidate: Candidate) -> Call:
        return Call(f"{NODES}.NodeFeatures", {"encoder": columns, "hops": HOPS})

    def assembled(self, members: Sequence[EnsembleMember], ensembling: Ensembling) -> Call:
        (one,) = members
        features = Call(f"{NODES}.GraphTransformer", {"estimator": one.encoder, **self.names})
        return super().assembled([one._replace(encoder=features)], ensembling)

    def matrix(self, splits: DataSplits, rows: pd.DataFrame) -> Floats:
        """Averages the matrix of the columns of all nodes as models do."""
        from scipy import sparse

        from palmette.automl.learners.graph.nodes import averaged

        ids, every = self._column("node"), splits.visible
        features = sparse.csr_array(matrix_of(splits.train, self.blueprint, every))
        places = every.reset_index(drop=True).reset_index().set_index(ids)["index"].loc[rows[ids]].to_numpy()
        return np.asarray(averaged(features, self.nodes(every).averaging, [HOPS])[places].toarray())


def homophily(nodes: Nodes, classes: NDArray[Any]) -> str:
    """Describes, for the report, how many edges join nodes of one class; `classes` (n,) are in the order of `nodes`."""
    links = nodes.links.tocoo()
    if not len(links.row):
        return "No edge joins two training nodes, so homophily is unknown."
    first, second = classes[links.row], classes[links.col]
    counts = np.unique(first, return_counts=True)[1]
    share, chance = float((first == second).mean()), float(((counts / counts.sum()) ** 2).sum())
    gain = share - chance
    how = "neighbours are alike" if gain > CLEAR else "neighbours differ" if gain < -CLEAR else "edges tell little"
    return (
        f"Homophily: {share:.1%} of the {len(links.row) // 2} edges between training nodes join nodes of one class, "
        f"{chance:.1%} would by chance: {how}."
    )
