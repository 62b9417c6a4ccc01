"""Forecasts by a pretrained network in a folder of $PALMETTE_MODELS; there is nothing to fit."""

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
SAFE = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}


@dataclass(eq=False, repr=False)
class PretrainedForecast(ForecastByItself):
    """Forecasts by a network that was trained on many other series."""

    folder: str  # folder of the network
    sha256: str  # SHA-256 of the weights, which the fitted model leaves out
    lags: int = 512  # last values that the network sees

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        values = [torch.tensor(one.values[-self.lags :], dtype=torch.float32) for one in contexts]
        made: list[torch.Tensor] = []
        with torch.inference_mode():
            for start in range(0, len(values), SERIES_TOGETHER):
                made += self.ahead(values[start : start + SERIES_TOGETHER])
        return np.stack([one.cpu().double().numpy().reshape(-1) for one in made])

    def ahead(self, values: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Returns the values (horizon,) after each tensor of values."""
        raise NotImplementedError


class ChronosForecast(PretrainedForecast):
    """The median forecast of a Chronos network (Ansari et al., 2024)."""

    def ahead(self, values: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        asked = {"prediction_length": self.horizon_, "quantile_levels": [0.5]}
        found, _ = _chronos(self.folder, self.sha256).predict_quantiles(values, **asked)
        return list(found)


class TimesFmForecast(PretrainedForecast):
    """The mean forecast of a TimesFM network (Das et al., 2024), which continues its own forecast where it ends."""

    def ahead(self, values: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        network, count = _timesfm(self.folder, self.sha256), 0
        known = [one.to(network.device) for one in values]
        while count < self.horizon_:
            more = network(past_values=known).mean_predictions
            known = [torch.cat(pair) for pair in zip(known, more, strict=True)]
            count += more.shape[1]
        return [one[-count:][: self.horizon_] for one in known]


@cache
def _chronos(folder: str, sha256: str) -> Any:
    from chronos import BaseChronosPipeline

    place = weights_file("", f"{folder}/model.safetensors", sha256).parent
    return BaseChronosPipeline.from_pretrained(place, device_map=fastest_device(), dtype=torch.float32, **SAFE)


@cache
def _timesfm(folder: str, sha256: str) -> Any:
    from transformers import AutoModelForTimeSeriesPrediction

    place = weights_file("", f"{folder}/model.safetensors", sha256).parent
    network = AutoModelForTimeSeriesPrediction.from_pretrained(place, dtype=torch.float32, **SAFE)
    return network.to(fastest_device()).eval()
