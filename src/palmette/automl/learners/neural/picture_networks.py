"""A small convolutional network for pictures as scikit-learn estimators, in PyTorch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from palmette.automl.learners.neural.training import ClassOutputs, NetworkEstimator, NumberOutputs

SMALLEST = 16  # smallest side in pixels
TURN, ZOOM, SHIFT, LIGHT = 0.2, 0.15, 0.12, 0.2  # largest random changes of a picture in training


@dataclass(eq=False, repr=False)
class _PictureNetwork(NetworkEstimator):
    """Shared by both networks: rows are the pixels of square pictures, from 0 to 1."""

    rows_at_once = 256

    epochs: int = 60  # passes over the training rows
    width: int = 32  # channels of the first layer
    mirrored: bool = True  # whether a mirror image shows the same
    random_state: int = 0

    def _built(self, X: np.ndarray, outputs: int) -> nn.Module:
        return convolutions(self.width, outputs)

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        side = max(SMALLEST, math.ceil((X.shape[1] / 3) ** 0.5))
        pixels = np.pad(np.nan_to_num(X), ((0, 0), (0, 3 * side**2 - X.shape[1])))  # also pixels of several pictures
        return [torch.as_tensor(pixels, dtype=torch.float32).reshape(len(X), side, side, 3).permute(0, 3, 1, 2) * 2 - 1]

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Members are one changed picture in training, else the picture and its mirror image if it shows the same."""
        (pixels,), network = rows, self.network_
        if network.training:
            return network(changed(pixels, self.mirrored))[:, None]
        pixels = pixels.to(next(network.parameters()).dtype)
        views = (pixels, pixels.flip(3)) if self.mirrored else (pixels,)
        return torch.stack([network(view) for view in views], dim=1)

    def _outputs(self, X: Any) -> torch.Tensor:
        """Computes in double precision if the device can, so that an output does not depend on other rows."""
        if next(self.network_.parameters()).device.type != "mps":
            self.network_.double()
        made = super()._outputs(X)
        self.network_.float()
        return made


class PictureNetworkClassifier(ClassOutputs, _PictureNetwork):
    """A convolutional network that predicts probabilities."""


class PictureNetworkRegressor(NumberOutputs, _PictureNetwork):
    """A convolutional network that predicts numbers."""


def convolutions(width: int, outputs: int) -> nn.Module:
    """Builds four stages that halve the sides and double the channels, and a mean over the remaining pixels."""
    layers: list[nn.Module] = []
    before = 3
    for after in (width, 2 * width, 4 * width, 4 * width):
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(before, outputs))


def changed(pixels: torch.Tensor, mirrored: bool) -> torch.Tensor:
    """Rotates, zooms, shifts and relights each picture a little at random, and mirrors half of them."""
    count, device = len(pixels), pixels.device

    def some(most: float) -> torch.Tensor:
        return (torch.rand(count) * 2 - 1) * most

    angle, zoom = some(TURN), 1 + some(ZOOM)
    flip = torch.where(torch.rand(count) < 0.5, -1.0, 1.0) if mirrored else torch.ones(count)
    cosine, sine = angle.cos() * zoom, angle.sin() * zoom
    rows = torch.stack([cosine * flip, -sine, some(SHIFT), sine * flip, cosine, some(SHIFT)], dim=1)
    grid = functional.affine_grid(rows.reshape(-1, 2, 3), list(pixels.shape), align_corners=False).to(device)
    made = functional.grid_sample(pixels, grid, padding_mode="reflection", align_corners=False)
    return made * (1 + some(LIGHT).to(device)[:, None, None, None]) + some(LIGHT).to(device)[:, None, None, None]
