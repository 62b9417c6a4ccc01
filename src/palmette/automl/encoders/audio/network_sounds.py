"""Sound embeddings by a network in a folder."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from palmette.automl.encoders.audio.sounds import RATE
from palmette.automl.encoders.trained_networks import NetworkVectors, TrainedNetwork

LEAST = RATE // 10  # values; shorter sounds are padded
MOST_HEARD = 10 * RATE  # values from the middle of a sound that are used


class SoundNetworkVectors(NetworkVectors):
    """Encodes the middle ten seconds of sounds as vectors; arguments as for `NetworkVectors`."""

    method = "get_audio_features"

    def inputs(self, network: TrainedNetwork, cell: Any) -> dict[str, torch.Tensor]:
        extractor = _extractor(network.place)
        start = max(0, (len(cell) - MOST_HEARD) // 2)
        wave = np.pad(cell[start : start + MOST_HEARD], (0, max(0, LEAST - len(cell))))
        rate = extractor.sampling_rate
        if rate != RATE:
            wave = np.interp(np.arange(0, len(wave), RATE / rate), np.arange(len(wave)), wave).astype("float32")
        made: dict[str, torch.Tensor] = extractor(wave, sampling_rate=rate, return_tensors="pt")
        return {name: made[name] for name in ("input_values", "input_features") if name in made}


@cache
def _extractor(place: Path) -> Any:
    from transformers import AutoFeatureExtractor

    return AutoFeatureExtractor.from_pretrained(place, local_files_only=True, trust_remote_code=False)
