"""Reads image files as arrays of pixels."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from palmette.automl.encoders.file_cells import file_content, read_once

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
    except (SyntaxError, TypeError, Image.DecompressionBombError) as error:
        raise ValueError(str(error)) from None


def of_pixels(values: np.ndarray) -> np.ndarray:
    """Converts pixels to bytes (height, width) or (height, width, 3); a flat array is a square picture."""
    if values.ndim == 1:
        colours = () if math.isqrt(values.size) ** 2 == values.size else (3,)
        side = math.isqrt(values.size // 3 if colours else values.size)
        if side * side * (3 if colours else 1) != values.size or not side:
            raise ValueError(f"{values.size} pixels make no square")
        values = values.reshape(side, side, *colours)
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] != 3):
        raise ValueError(f"an array {values.shape} is no picture")
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
