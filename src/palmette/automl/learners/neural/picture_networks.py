"""A small convolutional network for pictures, in PyTorch."""

import math
from typing import Self

import torch
from torch import nn
from torch.nn import functional

SMALLEST = 16  # smallest side in pixels
TOGETHER = 256  # pictures per batch in prediction
TURN, ZOOM, SHIFT, LIGHT = 0.2, 0.15, 0.12, 0.2  # largest random changes of a picture in training


class PictureNetwork(nn.Module):
    """Learns from the pixels of square pictures, from 0 to 1, by convolutions.

    Members are one changed picture in training, else the picture and its mirror image if it shows the same.
    """

    def __init__(self, rows: torch.Tensor, outputs: int, width: int = 32, mirrored: bool = True) -> None:
        super().__init__()
        self.layers, self.mirrored = convolutions(width, outputs), mirrored

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        side = max(SMALLEST, math.ceil((rows.shape[1] / 3) ** 0.5))
        pixels = functional.pad(rows, (0, 3 * side**2 - rows.shape[1]))  # also pixels of several pictures
        pixels = pixels.reshape(-1, side, side, 3).permute(0, 3, 1, 2) * 2 - 1
        if self.training:
            return self.layers(changed(pixels, self.mirrored))[:, None]
        parts = [self._outputs(some) for some in torch.split(pixels.to(next(self.parameters()).dtype), TOGETHER)]
        return torch.cat(parts)

    def _outputs(self, pixels: torch.Tensor) -> torch.Tensor:
        views = (pixels, pixels.flip(3)) if self.mirrored else (pixels,)
        return torch.stack([self.layers(view) for view in views], dim=1)

    def train(self, mode: bool = True) -> Self:
        """Predicts in double precision if the device can, so that an output does not depend on other rows."""
        is_double = not mode and next(self.parameters()).device.type != "mps"
        return super().train(mode).to(torch.float64 if is_double else torch.float32)


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
