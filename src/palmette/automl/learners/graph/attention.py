"""Graph attention as a scikit-learn estimator, in PyTorch Geometric."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import GATConv

from palmette.automl.learners.graph.graph_networks import GraphNetworkClassifier, SparseLinear, thinned
from palmette.automl.learners.graph.nodes import Nodes

ATTENTION_HEADS = 4


class AttentionNetwork(nn.Module):
    """Two layers that weigh neighbours by learnt attention (GAT: Velickovic et al., 2018)."""

    def __init__(self, inputs: int, width: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.first, self.dropout = SparseLinear(inputs, width), dropout
        self.near = GATConv(width, -(-width // ATTENTION_HEADS), ATTENTION_HEADS, dropout=dropout)
        self.last = GATConv(ATTENTION_HEADS * -(-width // ATTENTION_HEADS), outputs, dropout=dropout)

    def forward(self, rows: Any, averaging: Any) -> Any:
        counts = averaging.crow_indices().diff()
        ends = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        edges = torch.stack([averaging.col_indices(), ends])
        values = functional.relu(self.first(thinned(rows, self.dropout, self.training)))
        values = functional.elu(self.near(functional.dropout(values, self.dropout, self.training), edges))
        return self.last(functional.dropout(values, self.dropout, self.training), edges)


class AttentionClassifier(GraphNetworkClassifier):
    """A graph attention network; arguments as for `GraphNetworkClassifier`."""

    def _of_nodes(self, X: Nodes) -> Any:
        """Sees new nodes and the graph together, as attention weighs each neighbour."""
        return super()._of_nodes(X.joined if X.graph else X)
