"""Image embeddings by a network in a folder."""

from typing import Any

import numpy as np
import torch

from palmette.automl.encoders.image.pictures import resized
from palmette.automl.encoders.trained_networks import NetworkVectors, TrainedNetwork, json_of

USUAL = 224  # side in pixels


class PictureNetworkVectors(NetworkVectors):
    """Encodes whole pictures, scaled to a square, as vectors; arguments as for `NetworkVectors`."""

    method = "get_image_features"

    def inputs(self, network: TrainedNetwork, cell: Any) -> dict[str, torch.Tensor]:
        given = json_of(network.place / "preprocessor_config.json")
        size: Any = given.get("crop_size") or given.get("size") or USUAL
        side = int(next(iter(size.values())) if isinstance(size, dict) else size)
        mean, deviation = (np.array(given.get(name) or (0.5,) * 3) for name in ("image_mean", "image_std"))
        pixels = (resized(cell, side, side) / 255 - mean) / deviation
        return {"pixel_values": torch.tensor(pixels.transpose(2, 0, 1), dtype=torch.float32)[None]}
