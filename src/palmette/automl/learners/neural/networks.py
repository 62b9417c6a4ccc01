"""Neural networks for tables as scikit-learn estimators, in PyTorch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.transformers import SquashingScaler
from palmette.automl.learners.neural.training import ClassOutputs, NetworkEstimator, NumberOutputs


class Waves(nn.Module):
    """Embeds each number by sines and cosines of learnt frequencies, mixed to a few values (Gorishniy et al., 2022)."""

    def __init__(self, numbers: int, spread: float, frequencies: int = 16, width: int = 8) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(torch.randn(numbers, frequencies) * spread)
        self.mix = nn.Linear(2 * frequencies + 1, width)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Embeds (n, numbers) as (n, numbers * width)."""
        angles = 2 * math.pi * self.frequencies * numbers[..., None]
        waves = torch.cat([angles.sin(), angles.cos(), numbers[..., None]], dim=-1)
        return functional.relu(self.mix(waves)).flatten(1)


class RowVectors(nn.Module):
    """Encodes a row as one vector of length `size`: embeddings of its numbers and of its categories."""

    def __init__(self, numbers: int, categories: Sequence[int], spread: float) -> None:
        super().__init__()
        lengths = [min(24, 1 + round(1.6 * count**0.5)) for count in categories]
        self.waves = Waves(numbers, spread)
        self.vectors = nn.ModuleList(map(nn.Embedding, categories, lengths))
        self.size = numbers * self.waves.mix.out_features + sum(lengths)

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        parts = [one(categories[:, place]) for place, one in enumerate(self.vectors)]
        return torch.cat([self.waves(numbers), *parts], dim=1)


class SharedLinear(nn.Module):
    """A linear layer for several networks at once, which differ only in scales and shifts."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.before = nn.Parameter(torch.randint(0, 2, (members, inputs)) * 2.0 - 1.0)
        self.after = nn.Parameter(torch.ones(members, outputs))
        self.shift = nn.Parameter(torch.zeros(members, outputs))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Maps (n, members, inputs) to (n, members, outputs)."""
        return self.linear(values * self.before) * self.after + self.shift


class Residual(nn.Module):
    """Adds the output of two layers to their input."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        wide = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(dropout))
        self.change = nn.Sequential(wide, nn.Linear(2 * width, width))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values + self.change(values)


def shared_layers(inputs: int, outputs: int, width: int, depth: int, dropout: float, members: int = 4) -> nn.Module:
    """Several networks in one that train together and predict their mean: TabM (Gorishniy et al., 2024)."""
    sizes = [inputs] + [width] * depth
    layers = [
        nn.Sequential(SharedLinear(members, before, after), nn.ReLU(), nn.Dropout(dropout))
        for before, after in itertools.pairwise(sizes)
    ]
    return nn.Sequential(nn.Unflatten(1, (1, inputs)), *layers, SharedLinear(members, width, outputs))


def residual_layers(inputs: int, outputs: int, width: int, depth: int, dropout: float) -> nn.Module:
    """A residual network; its output has one member."""
    blocks = [Residual(width, dropout) for _ in range(depth)]
    last = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, outputs))
    return nn.Sequential(nn.Linear(inputs, width), *blocks, last, nn.Unflatten(1, (1, outputs)))


SHAPE = {"width": 128, "depth": 2, "dropout": 0.1, "spread": 0.1}
ARCHITECTURES = {"tabm": shared_layers, "resnet": residual_layers}


@dataclass(eq=False, repr=False)
class _Network(NetworkEstimator):
    """A network on numbers, with NaN for missing values, in which some columns are category codes."""

    architecture: str = "tabm"  # `tabm`, several networks that share most weights, or `resnet`
    # positions of the columns that are codes: whole numbers from 0, NaN for an unknown category
    categorical: Sequence[int] = ()
    epochs: int = 60  # passes over the training rows; the maximum if validation rows stop training early
    # `width` of a layer, `depth` in hidden layers or blocks, `dropout`, and `spread`, the standard deviation of the
    # frequencies of numeric embeddings: small ones give smooth functions
    layers: Mapping[str, float] | None = None
    descent: Mapping[str, float] | None = None  # `lr` and `weight_decay` of AdamW
    absolute: bool = False  # regression: whether to minimise the absolute error in place of the squared one
    random_state: int = 0

    def _built(self, X: np.ndarray, outputs: int) -> nn.Module:
        """Sets up the scales of numbers for the training rows, and builds the network."""
        numbers, categories = self._divided(X)
        self.scales_ = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), SquashingScaler()
        )
        count = self.scales_.fit_transform(numbers).shape[1] if numbers.shape[1] else 0
        self.counts_ = [int(column.max()) + 1 for column in categories.T]
        shape: dict[str, Any] = {**SHAPE, **(self.layers or {})}
        inputs = RowVectors(count, self.counts_, shape.pop("spread"))
        return nn.ModuleList([inputs, ARCHITECTURES[self.architecture](inputs.size, outputs, **shape)])

    def _divided(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns numbers, and category codes from 1; 0 is an unknown category."""
        places = list(self.categorical)
        return np.delete(X, places, axis=1), np.nan_to_num(X[:, places] + 1).astype("int64")

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        numbers, categories = self._divided(X)
        scaled = self.scales_.transform(numbers) if numbers.shape[1] else numbers
        known = np.where(categories < self.counts_, categories, 0) if categories.shape[1] else categories
        return [torch.as_tensor(scaled, dtype=torch.float32), torch.as_tensor(known)]

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        inputs, body = self.network_
        return body(inputs(*rows))


class NetworkClassifier(ClassOutputs, _Network):
    """A neural network for tables that predicts probabilities."""


class NetworkRegressor(NumberOutputs, _Network):
    """A neural network for tables that predicts numbers."""
