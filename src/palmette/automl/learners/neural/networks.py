"""Neural networks for tables, in PyTorch."""

import math

import torch
from torch import Tensor, nn


class Waves(nn.Module):
    """Adds waves of learnt frequencies (Gorishniy et al., 2022) to columns of more than two values."""

    def __init__(self, rows: Tensor, spread: float, waves: int = 16, width: int = 8) -> None:
        super().__init__()
        self.places = [place for place, column in enumerate(rows.T) if len(column.unique()) > 2]
        self.frequencies = nn.Parameter(torch.randn(len(self.places), waves) * spread)
        self.mix = nn.Linear(2 * waves + 1, width)
        self.size = len(self.places) * width + rows.shape[1]

    def forward(self, rows: Tensor) -> Tensor:
        numbers = rows[:, self.places, None]
        angles = 2 * math.pi * self.frequencies * numbers
        mixed = self.mix(torch.cat([angles.sin(), angles.cos(), numbers], dim=-1)).relu()
        return torch.cat([mixed.flatten(1), rows], dim=1)


class SharedLinear(nn.Linear):
    """A linear layer for several networks at once, which differ only in scales and shifts."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)
        self.before = nn.Parameter(torch.randint(0, 2, (members, inputs)) * 2.0 - 1.0)
        self.after = nn.Parameter(torch.ones(members, outputs))
        self.shift = nn.Parameter(torch.zeros(members, outputs))

    def forward(self, values: Tensor) -> Tensor:
        """Maps (n, members, inputs) to (n, members, outputs)."""
        return super().forward(values * self.before) * self.after + self.shift


class Residual(nn.Sequential):
    """Adds the output of two layers to their input."""

    def forward(self, values: Tensor) -> Tensor:
        return values + super().forward(values)  # type: ignore[no-untyped-call]  # of PyTorch


def tabm(
    rows: Tensor, outputs: int, spread: float = 0.1, width: int = 128, depth: int = 2, dropout: float = 0.1
) -> nn.Module:
    """Builds TabM (Gorishniy et al., 2024): networks in one that train together and predict their mean."""
    waves, members = Waves(rows, spread), 4
    layers: list[nn.Module] = [waves, nn.Unflatten(1, (1, waves.size))]
    for size in [waves.size] + [width] * (depth - 1):
        layers += [SharedLinear(members, size, width), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, SharedLinear(members, width, outputs))


def resnet(
    rows: Tensor, outputs: int, spread: float = 0.1, width: int = 128, depth: int = 2, dropout: float = 0.1
) -> nn.Module:
    """Builds a residual network."""
    waves, norm = Waves(rows, spread), nn.LayerNorm
    layers: list[nn.Module] = [waves, nn.Linear(waves.size, width)]
    for _ in range(depth):
        wide = nn.Sequential(norm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(dropout))
        layers.append(Residual(*wide, nn.Linear(2 * width, width)))
    return nn.Sequential(*layers, norm(width), nn.ReLU(), nn.Linear(width, outputs), nn.Unflatten(1, (1, outputs)))
