"""Numeric features of pictures: shapes, textures and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.encoders.file_cells import features_of
from palmette.automl.encoders.image.pictures import resized
from palmette.automl.encoders.stateless import Stateless

ANGLES = 9
SIDE = 64  # side in pixels of the square for shapes and textures


class PictureFeatures(Stateless):
    """Computes features of each picture in each column; there is nothing to fit."""

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return features_of(pd.DataFrame(X), lambda pictures: map(self.features, pictures))

    def features(self, picture: np.ndarray) -> np.ndarray:
        """Returns the features (d,) of a picture (height, width, 3)."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        count = len(self.features(np.zeros((2, 2, 3), dtype=np.uint8)))
        names = [
            "" if input_features is None else f"{name}_"
            for name in (input_features if input_features is not None else [0])
        ]
        return np.array([f"{name}{place}" for name in names for place in range(count)], dtype=object)


class ShapesAndColours(PictureFeatures):
    """Computes histograms of oriented gradients, local binary patterns and colours, and a thumbnail.

    Args:
        cell: Side of a gradient cell, in a square of 64 pixels: 8 for details, 16 for few features.
    """

    def __init__(self, cell: int = 8) -> None:
        self.cell = cell

    def features(self, picture: np.ndarray) -> np.ndarray:
        square = resized(picture, SIDE, SIDE).astype("float32") / 255
        size = 8 if self.cell > 8 else 16
        thumbnail = square.reshape(size, SIDE // size, size, SIDE // size, 3).mean(axis=(1, 3)).ravel()
        grey = square.mean(axis=2)
        return np.concatenate([gradients(grey, self.cell), textures(grey), 3 * colours(square), 0.5 * thumbnail])


class Thumbnails(PictureFeatures):
    """Scales pictures down to their pixels.

    Args:
        size: Side in pixels.
    """

    def __init__(self, size: int = 16) -> None:
        self.size = size

    def features(self, picture: np.ndarray) -> np.ndarray:
        return resized(picture, self.size, self.size).ravel() / np.float32(255)


def gradients(grey: np.ndarray, cell: int) -> np.ndarray:
    """Computes histograms of oriented gradients in cells, normalised in blocks of 2 by 2 (Dalal and Triggs, 2005)."""
    down, right = np.gradient(grey)
    strength, angle = np.hypot(down, right), np.mod(np.arctan2(down, right), np.pi)
    which = np.minimum((angle / np.pi * ANGLES).astype(int), ANGLES - 1)
    count = len(grey) // cell
    place = np.arange(len(grey)) // cell
    bins = (place[:, None] * count + place[None]) * ANGLES + which
    cells = np.bincount(bins.ravel(), strength.ravel(), count * count * ANGLES).reshape(count, count, ANGLES)
    blocks = np.concatenate([cells[:-1, :-1], cells[1:, :-1], cells[:-1, 1:], cells[1:, 1:]], axis=2)
    return (blocks / np.sqrt((blocks**2).sum(axis=2, keepdims=True) + 1e-4)).ravel().astype("float32")


def textures(grey: np.ndarray) -> np.ndarray:
    """Computes histograms of local binary patterns: how many of a pixel's eight neighbours are brighter."""
    inner = grey[1:-1, 1:-1]
    ring = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
    height, width = inner.shape
    bits = np.stack([grey[y : y + height, x : x + width] > inner + 0.01 for y, x in ring])
    changes = (bits != np.roll(bits, 1, axis=0)).sum(axis=0)
    codes = np.where(changes <= 2, bits.sum(axis=0), 9)  # patterns with few changes are edges and corners
    counts = [np.bincount(part.ravel(), minlength=10) / part.size for part in _quarters(codes)]
    return np.sqrt(np.concatenate(counts)).astype("float32")


def _quarters(values: np.ndarray) -> list[np.ndarray]:
    half = len(values) // 2
    return [values[:half, :half], values[:half, half:], values[half:, :half], values[half:, half:]]


def colours(square: np.ndarray) -> np.ndarray:
    """Computes histograms of hue (weighted by saturation), saturation and brightness, 16 bins each."""
    most, least = square.max(axis=2), square.min(axis=2)
    chroma = most - least
    safe = np.where(chroma > 0, chroma, 1)
    red, green, blue = np.moveaxis(square, 2, 0)
    hue = np.where(most == red, (green - blue) / safe % 6, 0)
    hue = np.where((most == green) & (most != red), (blue - red) / safe + 2, hue)
    hue = np.where((most == blue) & (most != red) & (most != green), (red - green) / safe + 4, hue) / 6
    saturation = chroma / np.where(most > 0, most, 1)
    parts = ((hue, chroma), (saturation, None), (most, None))
    found = [np.histogram(values, 16, (0, 1), weights=weights)[0] / values.size for values, weights in parts]
    return np.concatenate(found).astype("float32")
