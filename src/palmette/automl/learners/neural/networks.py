"""Neural networks for tables as scikit-learn estimators, in PyTorch."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from torch import nn

from palmette.automl.encoders.transformers import SquashingScaler
from palmette.automl.learners.neural.training import ClassOutputs, NetworkEstimator, NumberOutputs


class RowVectors(nn.Module):
    """Encodes a row as a vector: numbers as waves of learnt frequencies (Gorishniy et al., 2022), embedded codes."""

    def __init__(self, numbers: int, categories: Sequence[int], spread: float, waves: int = 16, width: int = 8) -> None:
        super().__init__()
        lengths = [min(24, 1 + round(1.6 * count**0.5)) for count in categories]
        self.frequencies = nn.Parameter(torch.randn(numbers, waves) * spread)
        self.mix = nn.Linear(2 * waves + 1, width)
        self.vectors = nn.ModuleList(map(nn.Embedding, categories, lengths))
        self.size = numbers * width + sum(lengths)

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        angles = 2 * math.pi * self.frequencies * numbers[..., None]
        mixed = self.mix(torch.cat([angles.sin(), angles.cos(), numbers[..., None]], dim=-1)).relu().flatten(1)
        return torch.cat([mixed, *(one(column) for one, column in zip(self.vectors, categories.T, strict=True))], dim=1)


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
    layers: list[nn.Module] = [nn.Unflatten(1, (1, inputs))]
    for size in [inputs] + [width] * (depth - 1):
        layers += [SharedLinear(members, size, width), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, SharedLinear(members, width, outputs))


def residual_layers(inputs: int, outputs: int, width: int, depth: int, dropout: float) -> nn.Module:
    """A residual network; its output has one member."""
    blocks = [Residual(width, dropout) for _ in range(depth)]
    last = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, outputs))
    return nn.Sequential(nn.Linear(inputs, width), *blocks, last, nn.Unflatten(1, (1, outputs)))


@dataclass(eq=False, repr=False)
class _Network(NetworkEstimator):
    """A network on numbers, with NaN for missing values, in which some columns are category codes."""

    architecture: Callable[..., nn.Module]  # builds the layers after the first
    categorical: Sequence[int] = ()  # positions of codes: whole numbers from 0, NaN for an unknown category
    epochs: int = 60  # passes over the training rows
    width: int = 128  # units of a layer
    depth: int = 2  # hidden layers or blocks
    dropout: float = 0.1
    spread: float = 0.1  # standard deviation of the frequencies of numbers; small ones give smooth functions
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    absolute: bool = False  # regression: whether to minimise the absolute error in place of the squared one
    random_state: int = 0

    def _built(self, X: np.ndarray, outputs: int) -> nn.Module:
        numbers, codes = self._divided(X)
        self.scales_ = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), SquashingScaler()
        )
        count = self.scales_.fit_transform(numbers).shape[1] if numbers.shape[1] else 0
        self.counts_ = [int(column.max()) + 1 for column in codes.T]
        inputs = RowVectors(count, self.counts_, self.spread)
        layers = self.architecture(inputs.size, outputs, width=self.width, depth=self.depth, dropout=self.dropout)
        return nn.ModuleList([inputs, layers])

    def _divided(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns numbers, and category codes from 1; 0 is an unknown category."""
        places = list(self.categorical)
        return np.delete(X, places, axis=1), np.nan_to_num(X[:, places] + 1).astype("int64")

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        numbers, codes = self._divided(X)
        scaled = self.scales_.transform(numbers) if numbers.shape[1] else numbers
        return [torch.as_tensor(scaled).float(), torch.as_tensor(np.where(codes < self.counts_, codes, 0))]

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        inputs, layers = self.network_
        return layers(inputs(*rows))


class NetworkClassifier(ClassOutputs, _Network):
    """A neural network for tables that predicts probabilities."""


class NetworkRegressor(NumberOutputs, _Network):
    """A neural network for tables that predicts numbers."""
