"""Forecasts by a pretrained network in a folder of $PALMETTE_MODELS."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from palmette.automl.encoders.trained_networks import fastest_device
from palmette.automl.encoders.transformers import weights_file
from palmette.automl.learners.forecasting.series import Series
from palmette.automl.learners.forecasting.simple import ForecastByItself

SERIES_TOGETHER = 64  # batch size


@dataclass(eq=False, repr=False)
class PretrainedForecast(ForecastByItself):
    """The median forecast of a Chronos network (Ansari et al., 2024); there is nothing to fit."""

    folder: str  # folder of the network
    sha256: str  # SHA-256 of the weights, which the fitted model leaves out
    lags: int = 512  # last values that the network sees

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        """Forecasts (n, horizon): the values after each context."""
        network, made = _chronos(self.folder, self.sha256), []
        values = [torch.tensor(one.values[-self.lags :], dtype=torch.float32) for one in contexts]
        for start in range(0, len(values), SERIES_TOGETHER):
            asked = {"prediction_length": self.horizon_, "quantile_levels": [0.5]}
            with torch.inference_mode():
                found, _ = network.predict_quantiles(values[start : start + SERIES_TOGETHER], **asked)
            made += [one.cpu().double().numpy().reshape(-1) for one in found]
        return np.stack(made)


@cache
def _chronos(folder: str, sha256: str) -> Any:
    from chronos import BaseChronosPipeline

    place = weights_file("", f"{folder}/model.safetensors", sha256).parent
    safe = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    return BaseChronosPipeline.from_pretrained(place, device_map=fastest_device(), dtype=torch.float32, **safe)
