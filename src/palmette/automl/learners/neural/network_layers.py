"""The layers of neural networks for tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional


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
