"""Neural networks on a whole graph as scikit-learn estimators, in PyTorch."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device
from palmette.automl.learners.graph.nodes import NodeModel, Nodes
from palmette.automl.learners.neural.training import descend
from palmette.automl.learners.wrappers import ProbabilityClassifier

STEPS = 10  # steps of GPR-GNN along the edges
RETURN = 0.1  # initial weight of a node's own values, as in personalised PageRank


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


@dataclass(eq=False, repr=False)
class GraphNetworkClassifier(NodeModel, ProbabilityClassifier, BaseEstimator):
    """A network that sees the whole graph in every step and learns from the nodes of known class."""

    network: type[nn.Module]  # takes the numbers of inputs, hidden units and classes, and the dropout
    epochs: int = 200  # training steps
    width: int = 64  # units of the hidden layer
    dropout: float = 0.5  # share of values that are left out in training
    lr: float = 0.01  # learning rate of Adam
    weight_decay: float = 5e-4  # L2 penalty
    random_state: int = 0

    def fit(self, X: Nodes, y: Any, monitor: Callable[[], bool] | None = None) -> Self:
        """Fits; `monitor` is called after each step and ends training if it returns True."""
        self.classes_, target = np.unique(y, return_inverse=True)
        device = "cuda" if fastest_device() == "cuda" else "cpu"  # others lack sparse matrices
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            shape = X.rows.shape[1], self.width, len(self.classes_), self.dropout
            network = self.network_ = self.network(*shape).to(device)
            rows, averaging = self._matrix(X.rows), self._matrix(X.averaging)
            known, classes = (torch.as_tensor(one).to(device) for one in (X.places, target))
            descent = torch.optim.Adam(network.parameters(), lr=self.lr, weight_decay=self.weight_decay)
            for _ in range(self.epochs):
                outputs = network.train()(rows, averaging)[known]
                descend(descent, functional.cross_entropy(outputs, classes), math.inf)
                if monitor and monitor():
                    break
        network.cpu().eval()
        return self

    def predict_proba(self, X: Nodes) -> np.ndarray:
        return np.asarray(self._of_nodes(X))

    def _outputs(self, rows: Any, averaging: Any) -> Any:
        network = self.network_.eval()
        with torch.no_grad():
            made = network(rows, averaging)
        return functional.softmax(made.double(), dim=1).cpu().numpy()

    def _matrix(self, matrix: Any) -> Any:
        """Returns a matrix as a sparse tensor on the device of the network."""
        whole = sparse.csr_array(matrix)
        starts, columns = (torch.as_tensor(one.astype("int64")) for one in (whole.indptr, whole.indices))
        values = torch.as_tensor(whole.data.astype("float32"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # sparse tensors are in beta
            made = torch.sparse_csr_tensor(starts, columns, values, whole.shape, check_invariants=False)
        return made.to(next(self.network_.parameters()).device)


def thinned(rows: Any, share: float, training: bool) -> Any:
    """Applies dropout to sparse rows."""
    values = functional.dropout(rows.values(), share, training)
    return torch.sparse_csr_tensor(rows.crow_indices(), rows.col_indices(), values, rows.shape, check_invariants=False)
