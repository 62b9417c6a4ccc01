"""Forecasts by a Toto network (Cohen et al., 2025) in a folder of $PALMETTE_MODELS.

The network is a transformer over patches of a series. Each series is forecast by itself: attention between series
then sees one, whose value it returns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device, json_of
from palmette.automl.encoders.transformers import weights_file
from palmette.automl.learners.forecasting.pretrained_forecast import PretrainedForecast

PARTS = {"scaler_cls": "CausalPatchStdMeanScaler", "output_distribution_classes": "MixtureOfStudentTsOutput"}
FUSED = {"mlp.0.w12.": "mlp.0.", "mlp.0.w3.": "mlp.2."}  # names in files that were written with xFormers
LEAST_VARIANCE = 0.1  # added to the variance of each scale
XPOS_BASE = 512  # patches over which attention decays


class TotoForecast(PretrainedForecast):
    """The mean forecast of a Toto network, which continues its own forecast where it ends."""

    def ahead(self, values: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        network = _toto(self.folder, self.sha256)
        gaps = [-len(one) % network.patch for one in values]
        padded = [functional.pad(one, (gap, 0)) for one, gap in zip(values, gaps, strict=True)]
        made = torch.empty(len(values), self.horizon_)
        for length in {len(one) for one in padded}:
            here = [place for place, one in enumerate(padded) if len(one) == length]
            present = torch.arange(length) >= torch.tensor([gaps[place] for place in here])[:, None]
            made[here] = network.forecast(torch.stack([padded[place] for place in here]), present, self.horizon_)
        return list(made)


@cache
def _toto(folder: str, sha256: str) -> "TotoNetwork":
    from safetensors.torch import load_file

    file = weights_file("", f"{folder}/model.safetensors", sha256)
    return TotoNetwork(json_of(file.with_name("config.json")), load_file(file, device=fastest_device()))


@dataclass
class TotoNetwork:
    """A network in the hub's layout; raises ValueError for another scaler or distribution."""

    config: Mapping[str, Any]
    tensors: Mapping[str, torch.Tensor]

    def __post_init__(self) -> None:
        for name, part in PARTS.items():
            if part not in str(self.config.get(name)):
                raise ValueError(f"The {name} {self.config.get(name)} of a Toto network is not read.")
        self.patch = int(self.config["patch_size"])
        tensors = {}
        for name, tensor in self.tensors.items():
            for fused, plain in FUSED.items():
                name = name.replace(fused, plain)
            tensors[name.removeprefix("model.")] = tensor.float()
        self.tensors = tensors

    def forecast(self, values: torch.Tensor, present: torch.Tensor, horizon: int) -> torch.Tensor:
        """Returns the next values (n, horizon) of each row (n, steps) of whole patches; others than the `present`
        values are padding."""
        steps, limits = values.shape[1], self._limits(values.double(), present)
        while values.shape[1] < steps + horizon:
            values = torch.cat([values, self._next_patch(values, present, limits)], dim=1)
            present = functional.pad(present, (0, self.patch), value=True)
        return values[:, steps : steps + horizon]

    def _limits(self, values: torch.Tensor, present: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the least and the largest scale (n, 1) that patches may have."""
        if not self.config.get("stabilize_with_global", True):
            return torch.tensor(0.0), torch.tensor(torch.inf)
        count = present.sum(dim=1, keepdim=True)
        mean = (values * present).sum(dim=1, keepdim=True) / count
        scale = (((values - mean) * present).square().sum(dim=1, keepdim=True) / count + LEAST_VARIANCE).sqrt()
        factor = 10.0 ** self.config.get("scale_factor_exponent", 10.0)
        return (scale / factor).clamp_min(LEAST_VARIANCE), scale * factor

    def _next_patch(self, values: torch.Tensor, present: torch.Tensor, limits: Any) -> torch.Tensor:
        """Returns the next values (n, patch); each patch is scaled by all values up to its end."""
        exact, count = values.double() * present, present.cumsum(dim=1).clamp_min(1)
        means = exact.cumsum(dim=1) / count
        changes = exact - functional.pad(means, (1, -1))  # from the mean of the values before
        squares = (changes * (exact - means) * present).cumsum(dim=1)
        scales = (squares / (count - 1).clamp_min(1) + LEAST_VARIANCE).sqrt().clamp(*limits)
        means, scales = (one[:, self.patch - 1 :: self.patch, None].float() for one in (means, scales))
        patches = (values.reshape(len(values), -1, self.patch) - means) / scales
        return self._mean(patches.to(self.tensors["unembed.weight"].device)).cpu() * scales[:, -1] + means[:, -1]

    def _mean(self, patches: torch.Tensor) -> torch.Tensor:
        """Returns the mean (n, patch) of the mixture after `patches` (n, count, patch)."""
        every, layers = int(self.config["spacewise_every_n_layers"]), int(self.config["num_layers"])
        between = 0 if self.config.get("spacewise_first", True) else every - 1  # place of the layer between series
        hidden = self._linear("patch_embed.projection", patches)
        for place in range(layers):
            layer = f"transformer.layers.{place}"
            over_time = every < 0 or place % every != between
            hidden = hidden + self._attention(f"{layer}.attention", self._norm(f"{layer}.norm1", hidden), over_time)
            gate, linear = self._linear(f"{layer}.mlp.0", self._norm(f"{layer}.norm2", hidden)).chunk(2, dim=-1)
            hidden = hidden + self._linear(f"{layer}.mlp.2", functional.silu(gate) * linear)
        steps = self._linear("unembed", hidden[:, -1]).reshape(len(hidden), -1, hidden.shape[2])
        weights = self._linear("output_distribution.mixture_weights", steps).softmax(dim=-1)
        return (weights * self._linear("output_distribution.loc_proj", steps)).sum(dim=-1)

    def _attention(self, name: str, hidden: torch.Tensor, over_time: bool) -> torch.Tensor:
        """Returns causal attention over patches, or attention between series, of which there is one."""
        parts = self._linear(f"{name}.wQKV", hidden).reshape(*hidden.shape[:2], 3, -1, int(self.config["num_heads"]))
        query, key, value = parts.permute(2, 0, 4, 1, 3)  # (n, heads, count, size) each
        if over_time:
            angles, decay = _positions(key)
            query, key = _rotated(query, angles) * decay, _rotated(key, angles) / decay
            value = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self._linear(f"{name}.wO", value.transpose(1, 2).flatten(2))

    def _linear(self, name: str, inputs: torch.Tensor) -> torch.Tensor:
        return functional.linear(inputs, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def _norm(self, name: str, inputs: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(inputs, inputs.shape[-1:], self.tensors[f"{name}.scale"], eps=1e-8)


def _positions(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns angles and decays (count, size) of xPos rotary positions for keys (..., count, size)."""
    count, size = keys.shape[-2:]
    places, pairs = torch.arange(count, device=keys.device)[:, None], torch.arange(0, size, 2, device=keys.device)
    angles = places * 10_000.0 ** (-pairs / size)
    decay = ((pairs + 0.4 * size) / (1.4 * size)) ** ((places - (count - 1) // 2) / XPOS_BASE)
    return angles.repeat_interleave(2, dim=1), decay.repeat(1, 2)


def _rotated(inputs: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    turned = torch.stack([-inputs[..., 1::2], inputs[..., ::2]], dim=-1).flatten(-2)
    return inputs * angles.cos() + turned * angles.sin()
