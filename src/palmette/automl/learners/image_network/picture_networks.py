"""A small convolutional network for pictures as scikit-learn estimators, in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device
from palmette.automl.learners.neural.networks import NetworkClassifier, NetworkRegressor

PICTURES_AT_ONCE, SMALLEST = 256, 16  # batch size; smallest side in pixels
TURN, ZOOM, SHIFT, LIGHT = 0.2, 0.15, 0.12, 0.2  # largest random changes of a picture in training


@dataclass(eq=False, repr=False)
class _PictureNetwork:
    """Shared by both networks: rows are the pixels of square pictures, from 0 to 1."""

    categorical: ClassVar[Sequence[int]] = ()
    descent: ClassVar[Mapping[str, float] | None] = None
    absolute: ClassVar[bool] = False

    epochs: int = 60  # passes over the training rows; the maximum if validation rows stop training early
    width: int = 32  # channels of the first layer
    mirrored: bool = True  # whether a mirror image shows the same
    random_state: int = 0

    def _started(self, X: np.ndarray, y: np.ndarray) -> list[torch.Tensor]:
        network: Any = convolutions(self.width, self._outputs_of(y))  # type: ignore[attr-defined]  # of the other base
        self.network_ = network.to(fastest_device())
        return self._tensors(X)

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        side = max(SMALLEST, math.ceil((X.shape[1] / 3) ** 0.5))
        pixels = np.pad(np.nan_to_num(X), ((0, 0), (0, 3 * side**2 - X.shape[1])))  # also pixels of several pictures
        return [torch.as_tensor(pixels, dtype=torch.float32).reshape(len(X), side, side, 3).permute(0, 3, 1, 2) * 2 - 1]

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Returns (n, members, outputs): in training of a changed picture, else of the picture and its mirror image."""
        network = self.network_
        first = next(network.parameters())
        pixels = rows[0].to(first.device, first.dtype)
        if network.training:
            return network(changed(pixels, self.mirrored)).cpu()[:, None]
        views = (pixels, pixels.flip(3)) if self.mirrored else (pixels,)
        return torch.stack([network(view).cpu().float() for view in views], dim=1)

    def _outputs(self, rows: list[torch.Tensor]) -> torch.Tensor:
        """Computes in double precision if the device can, so that an output does not depend on other rows."""
        self.network_.eval()
        double = fastest_device() != "mps"
        network = self.network_.double() if double else self.network_
        with torch.inference_mode():
            made = torch.cat([self._forward([some]) for some in torch.split(rows[0], PICTURES_AT_ONCE)])
        network.float()
        return made

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "network_"):
            self.network_.cpu()
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]  # of the other base
        return state


class PictureNetworkClassifier(_PictureNetwork, NetworkClassifier):
    """A convolutional network that predicts probabilities."""


class PictureNetworkRegressor(_PictureNetwork, NetworkRegressor):
    """A convolutional network that predicts numbers."""


def convolutions(width: int, outputs: int) -> nn.Module:
    """Builds four stages that halve the sides and double the channels, and a mean over the remaining pixels."""
    layers: list[nn.Module] = []
    before = 3
    for after in (width, 2 * width, 4 * width, 4 * width):
        layers += [
            nn.Conv2d(before, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
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
