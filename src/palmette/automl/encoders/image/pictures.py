"""Image files as pixels, and their numeric features: shapes, textures and colours."""

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, ImageOps

from palmette.automl.encoders.transformers import Stateless, features_of, file_content, read_once

SHORT_SIDE, LONG_SIDE = 256, 512  # largest sides, in pixels, of a picture that is kept
MOST_PIXELS = 100_000_000  # a small file can claim more


@read_once
def picture_of(cell: Any) -> np.ndarray:
    """Reads a picture as bytes (height, width, 3), upright, on white, at most 256 by 512; one grey pixel if missing.

    A cell is the content of a file, its path, a `data:` URL, or pixels as a list of numbers from 0 to 255.
    """
    if isinstance(cell, list | np.ndarray):
        return decoded(Image.fromarray(of_pixels(np.asarray(cell, dtype="float64"))))
    content = file_content(cell)
    if content is None:
        return np.full((1, 1, 3), 128, dtype=np.uint8)
    try:
        return decoded(Image.open(io.BytesIO(content)))
    except (OSError, SyntaxError, TypeError, Image.DecompressionBombError) as error:
        raise ValueError(str(error).partition(" <")[0]) from None  # without the name that Pillow has for bytes


def of_pixels(values: np.ndarray) -> np.ndarray:
    """Converts pixels to bytes (height, width) or (height, width, 3); a flat array is a square picture."""
    if values.ndim == 1:
        colours = () if math.isqrt(values.size) ** 2 == values.size else (3,)
        side = math.isqrt(values.size // 3 if colours else values.size)
        if side * side * (3 if colours else 1) != values.size or not side:
            raise ValueError(f"{values.size} pixels make no square")
        values = values.reshape(side, side, *colours)
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] != 3):
        raise ValueError(f"an array {values.shape} is not a picture")
    return np.nan_to_num(values).clip(0, 255).round().astype(np.uint8)


def decoded(image: Any) -> np.ndarray:
    """Returns the pixels of an opened image as bytes (height, width, 3)."""
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"it has {image.width} by {image.height} pixels")
    scale = min(1.0, SHORT_SIDE / min(image.size), LONG_SIDE / max(image.size))
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    image.draft("RGB", size)
    image = on_white(image)
    image = image if image.size == size else image.resize(size, Image.Resampling.BOX)
    return np.asarray(ImageOps.exif_transpose(image))


def on_white(image: Any) -> Any:
    """Converts to RGB: transparent parts become white, 16-bit grey becomes 8-bit."""
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype="float64")
        top = max(float(values.max()), 255.0)
        return Image.fromarray((values.clip(0) * 255 / top).astype(np.uint8)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def resized(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Scales a picture to bytes (height, width, 3)."""
    if picture.shape[:2] == (height, width):
        return picture
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR))


ANGLES = 9
SIDE = 64  # side in pixels of the square for shapes and textures


class PictureFeatures(Stateless):
    """Computes features of each picture in each column; there is nothing to fit."""

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        return features_of(pd.DataFrame(X), lambda pictures: map(self.features, pictures))

    def features(self, picture: np.ndarray) -> np.ndarray:
        """Returns the features (d,) of a picture (height, width, 3)."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class ShapesAndColours(PictureFeatures):
    """Computes histograms of oriented gradients, local binary patterns and colours, and a thumbnail."""

    cell: int = 8  # side of a gradient cell, in a square of 64 pixels: 8 for details, 16 for few features

    def features(self, picture: np.ndarray) -> np.ndarray:
        pixels = resized(picture, SIDE, SIDE)
        square = pixels.astype("float32") / 255
        size = 8 if self.cell > 8 else 16
        thumbnail = square.reshape(size, SIDE // size, size, SIDE // size, 3).mean(axis=(1, 3)).ravel()
        grey = square.mean(axis=2)
        return np.concatenate([gradients(grey, self.cell), textures(grey), 3 * colours(pixels), 0.5 * thumbnail])


@dataclass(eq=False, repr=False)
class Thumbnails(PictureFeatures):
    """Scales pictures down to their pixels."""

    size: int = 16  # side in pixels

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
    half = len(codes) // 2
    quarters = codes[:half, :half], codes[:half, half:], codes[half:, :half], codes[half:, half:]
    counts = [np.bincount(part.ravel(), minlength=10) / part.size for part in quarters]
    return np.sqrt(np.concatenate(counts)).astype("float32")


def colours(pixels: np.ndarray) -> np.ndarray:
    """Computes histograms of hue (weighted by saturation), saturation and brightness, 16 bins each."""
    hue, saturation, brightness = np.moveaxis(np.asarray(Image.fromarray(pixels).convert("HSV")) // 16, 2, 0)
    parts = ((hue, np.ptp(pixels, axis=2).ravel() / 255), (saturation, None), (brightness, None))
    found = [np.bincount(values.ravel(), weights, 16) / values.size for values, weights in parts]
    return np.concatenate(found).astype("float32")
