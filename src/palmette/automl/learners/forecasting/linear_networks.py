"""Linear networks from the last values of a series to the next ones, in PyTorch (Zeng et al., 2023)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device
from palmette.automl.learners.forecasting.ridges import VALID, last_values, windows_of
from palmette.automl.learners.forecasting.series import Series, scales_of
from palmette.automl.learners.neural.training import EarlyStopping, descend

SMOOTHED = 25  # width of the moving mean that is the trend
BATCH, EPOCHS_WITHOUT_GAIN = 256, 3


@dataclass(eq=False, repr=False)
class LinearNetwork(BaseEstimator):
    """NLinear or DLinear: one layer on values relative to the last, or one each for their trend and the rest."""

    kind: str = "nlinear"  # `nlinear` or `dlinear`
    lags: int = 96  # last values that are used
    absolute: bool = False  # whether to minimise the absolute error
    epochs: int = 30  # most passes over the windows; the latest windows stop training early
    most: int = 20_000  # most windows to learn from
    random_state: int = 0

    def fit(self, series: Sequence[Series], horizon: int) -> Self:
        self.scales_ = scales_of(series)
        windows = windows_of(series, self.lags, horizon, self.most, self.scales_)
        x, y = (torch.as_tensor(part, dtype=torch.float32, device=fastest_device()) for part in windows)
        cut = max(1, round((1 - VALID) * len(x)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            layers = [nn.Linear(self.lags, horizon) for _ in range(1 + (self.kind == "dlinear"))]
            for layer in layers:
                nn.init.zeros_(layer.weight)
            self.layers_ = nn.ModuleList(layers).to(fastest_device())
            descent = torch.optim.AdamW(self.layers_.parameters(), lr=1e-3, weight_decay=1e-2)
            loss = partial(self._loss, x[cut:], y[cut:])
            valid = EarlyStopping(lambda: self.layers_, lambda: loss().item(), EPOCHS_WITHOUT_GAIN)
            for _ in range(self.epochs if cut < len(x) else 0):
                for some in torch.split(torch.randperm(cut), BATCH):
                    descend(descent, self._loss(x[some], y[some]), math.inf)
                if valid():
                    break
            valid.restore()
        self.layers_.cpu()
        return self

    def predict(self, contexts: Sequence[Series]) -> np.ndarray:
        recent = np.stack([last_values(one.values, self.lags) for one in contexts])
        scales = np.array([self.scales_.get(one.key) or float(np.std(one.values)) or 1.0 for one in contexts])[:, None]
        rows = torch.as_tensor((recent - recent[:, -1:]) / scales, dtype=torch.float32)
        with torch.no_grad():
            return np.asarray(recent[:, -1:] + scales * self._forward(rows).double().numpy())

    def _forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.kind == "nlinear":
            return self.layers_[0](rows)
        width = min(SMOOTHED, self.lags // 2 * 2 - 1)
        padded = functional.pad(rows[:, None], (width // 2, width // 2), mode="replicate")
        trend = functional.avg_pool1d(padded, width, stride=1)[:, 0]
        return self.layers_[0](trend) + self.layers_[1](rows - trend)

    def _loss(self, rows: torch.Tensor, ahead: torch.Tensor) -> torch.Tensor:
        return (functional.l1_loss if self.absolute else functional.mse_loss)(self._forward(rows), ahead)
