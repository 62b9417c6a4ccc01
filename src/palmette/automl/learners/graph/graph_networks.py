"""Neural networks on a whole graph as scikit-learn estimators, in PyTorch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device
from palmette.automl.learners.graph.nodes import Nodes
from palmette.automl.learners.neural.training import train
from palmette.automl.learners.wrappers import ProbabilityClassifier

STEPS = 10  # steps of GPR-GNN along the edges
RETURN = 0.1  # initial weight of a node's own values, as in personalised PageRank
PATIENCE = 40


class SparseLinear(nn.Linear):
    """A linear layer for sparse rows."""

    def forward(self, rows: Any) -> Any:
        return rows @ self.weight.T + self.bias


class GraphConvolutions(nn.Module):
    """Two graph convolutions (GCN: Kipf and Welling, 2017)."""

    def __init__(self, inputs: int, width: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second, self.dropout = SparseLinear(inputs, width), nn.Linear(width, outputs), dropout

    def forward(self, rows: Any, averaging: Any) -> Any:
        rows = functional.relu(averaging @ self.first(thinned(rows, self.dropout, self.training)))
        return averaging @ self.second(functional.dropout(rows, self.dropout, self.training))


class PageRankNetwork(nn.Module):
    """A network whose outputs are averaged over hops with learnt weights (GPR-GNN: Chien et al., 2021)."""

    def __init__(self, inputs: int, width: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second, self.dropout = SparseLinear(inputs, width), nn.Linear(width, outputs), dropout
        weights = RETURN * (1 - RETURN) ** torch.arange(STEPS + 1)
        weights[-1] = (1 - RETURN) ** STEPS
        self.weights = nn.Parameter(weights)

    def forward(self, rows: Any, averaging: Any) -> Any:
        rows = functional.relu(self.first(thinned(rows, self.dropout, self.training)))
        rows = self.second(functional.dropout(rows, self.dropout, self.training))
        rows = functional.dropout(rows, self.dropout, self.training)
        made = self.weights[0] * rows
        for weight in self.weights[1:]:
            rows = averaging @ rows
            made = made + weight * rows
        return made


NETWORKS: dict[str, type[nn.Module]] = {"gcn": GraphConvolutions, "gpr_gnn": PageRankNetwork}


@dataclass(eq=False, repr=False)
class GraphNetworkClassifier(ProbabilityClassifier, BaseEstimator):
    """A network that sees the whole graph in every step and learns from the nodes of known class."""

    networks: ClassVar[Mapping[str, type[nn.Module]]] = NETWORKS

    architecture: str = "gpr_gnn"  # `gcn` or `gpr_gnn`
    epochs: int = 200  # training steps; the maximum if validation nodes stop training early
    width: int = 64  # units of the hidden layer
    dropout: float = 0.5  # share of values that are left out in training
    lr: float = 0.01  # learning rate of Adam
    weight_decay: float = 5e-4  # L2 penalty
    random_state: int = 0

    def fit(self, X: Nodes, y: Any) -> GraphNetworkClassifier:
        self.fit_until(X, y)
        return self

    def fit_until(self, X: Nodes, y: Any, valid: tuple[Nodes, Any] | None = None, deadline: float = math.inf) -> int:
        """Fits and returns the number of epochs; with validation nodes, the number that is best for them."""
        self.classes_, target = np.unique(y, return_inverse=True)
        rows, averaging = _tensors(X)
        device = "cuda" if fastest_device() == "cuda" else "cpu"  # others lack sparse matrices
        with torch.random.fork_rng():
            torch.manual_seed(self.random_state)
            shape = rows.shape[1], self.width, len(self.classes_), self.dropout
            network = self.networks[self.architecture](*shape).to(device)
            rows, averaging, known, classes = (
                torch.as_tensor(one).to(device) for one in (rows, averaging, X.places, target)
            )

            def losses() -> Iterator[torch.Tensor]:
                yield functional.cross_entropy(network(rows, averaging)[known], classes)

            epochs = train(
                network,
                torch.optim.Adam(network.parameters(), lr=self.lr, weight_decay=self.weight_decay),
                losses,
                (lambda: self._loss(network, rows, averaging, valid)) if valid and len(valid[0]) else None,
                epochs=self.epochs,
                patience=PATIENCE,
                deadline=deadline,
            )
        self.network_ = network.cpu().eval()
        return epochs

    def predict_proba(self, X: Nodes) -> np.ndarray:
        with torch.no_grad():
            made = functional.softmax(self.network_(*_tensors(X)).double(), dim=1)
        return np.asarray(made.numpy()[X.places])

    def _loss(self, network: Any, rows: Any, averaging: Any, valid: tuple[Nodes, Any]) -> float:
        network.eval()
        with torch.no_grad():
            made = network(rows, averaging).cpu()[torch.as_tensor(valid[0].places)]
        return float(functional.cross_entropy(made, torch.as_tensor(np.searchsorted(self.classes_, valid[1]))))


def _tensors(X: Nodes) -> tuple[Any, Any]:
    """Returns the features and the averaging matrix, both as sparse tensors."""
    return _tensor(X.rows), _tensor(X.averaging)


def _tensor(matrix: Any) -> Any:
    whole = sparse.csr_array(matrix)
    starts, columns = (torch.as_tensor(one.astype("int64")) for one in (whole.indptr, whole.indices))
    values = torch.as_tensor(whole.data.astype("float32"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sparse tensors are in beta
        return torch.sparse_csr_tensor(starts, columns, values, whole.shape, check_invariants=False)


def thinned(rows: Any, share: float, training: bool) -> Any:
    """Applies dropout to sparse rows."""
    if not training:
        return rows
    values = functional.dropout(rows.values(), share)
    return torch.sparse_csr_tensor(rows.crow_indices(), rows.col_indices(), values, rows.shape, check_invariants=False)
