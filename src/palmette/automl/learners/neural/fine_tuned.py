"""Fine-tuning of a network in a folder of $PALMETTE_MODELS as scikit-learn estimators, in PyTorch."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device, pooled_outputs, trained_network
from palmette.automl.learners.neural.training import ClassOutputs, NumberOutputs, descend

TOGETHER, WARM_UP = 16, 0.1  # batch size, and the share of steps in which the learning rate rises
HEAD_RATE = 30.0  # the new layer learns faster than the network by this factor


@dataclass(eq=False, repr=False)
class _FineTuned(BaseEstimator):
    """Adds a linear layer to a pretrained network and trains both, on a GPU in mixed precision."""

    reader: Any  # transformer of cells by the frozen network, which names its folder and reads its inputs
    epochs: int = 3  # passes over the training rows
    lr: float = 3e-5  # learning rate of the network
    random_state: int = 0

    def fit(self, X: pd.DataFrame, y: Any, monitor: Callable[[], bool] | None = None) -> Self:
        """Fits; `monitor` is called after each batch and ends training if it returns True.

        `epochs_` is the number of complete passes over the rows.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            target, self.outputs_ = self._targets(np.asarray(y))
            network = self._untrained().to(fastest_device())
            rates, batches = [self.lr, self.lr * HEAD_RATE], math.ceil(len(X) / TOGETHER)
            layers = [{"params": one.parameters(), "lr": rate} for one, rate in zip(network, rates, strict=True)]
            descent = torch.optim.AdamW(layers, weight_decay=0.01)
            steps = 1 + self.epochs * batches
            schedule = torch.optim.lr_scheduler.OneCycleLR(descent, rates, steps, pct_start=WARM_UP)
            network.train()
            for some in (part for _ in range(self.epochs) for part in torch.split(torch.randperm(len(X)), TOGETHER)):
                outputs = self._forward(network, X.iloc[some.numpy()]).float().cpu()
                descend(descent, self._losses(outputs[:, None], target[some]).mean())
                schedule.step()
                if monitor and monitor():
                    break
        self.epochs_ = schedule.last_epoch // batches
        self.tensors_ = network.cpu().state_dict()
        self.__dict__.pop("_network", None)
        return self

    def _untrained(self) -> nn.ModuleList:
        """Returns the network of the folder with a new layer."""
        body = copy.deepcopy(trained_network(self.reader.folder, self.reader.sha256).model).float()
        return nn.ModuleList([body, nn.Linear(self.reader.size, self.outputs_)])

    def _outputs(self, X: pd.DataFrame) -> torch.Tensor:
        """Returns outputs (n, 1, outputs)."""
        if "_network" not in self.__dict__:
            self._network = self._untrained()
            self._network.load_state_dict(self.tensors_)
            self._network.to(fastest_device()).eval()
        masked = "attention_mask" in self._read(X.iloc[:1])[0]
        size = TOGETHER if masked or len({np.shape(cell) for cell in X.iloc[:, 0]}) == 1 else 1  # padding is heard
        with torch.inference_mode():
            starts = range(0, len(X), size)
            parts = [self._forward(self._network, X.iloc[start : start + size]).float().cpu() for start in starts]
        return torch.cat(parts)[:, None]

    def _read(self, X: pd.DataFrame) -> list[dict[str, torch.Tensor]]:
        network = trained_network(self.reader.folder, self.reader.sha256)
        cells = X.iloc[:, 0] if X.shape[1] == 1 else ["\n".join(map(str, row)) for row in X.itertuples(index=False)]
        return [self.reader.inputs(network, cell) for cell in cells]

    def _forward(self, layers: nn.ModuleList, X: pd.DataFrame) -> torch.Tensor:
        (body, head), each, device = layers, self._read(X), next(layers.parameters()).device
        inputs = {name: _padded([one[name] for one in each]).to(device) for name in each[0]}
        method = self.reader.method if hasattr(body, self.reader.method) else "forward"
        with torch.autocast(device.type, torch.bfloat16, enabled=layers.training and device.type == "cuda"):
            made = getattr(body, method)(**inputs)
            if "attention_mask" not in inputs:
                return head(pooled_outputs(made, self.reader.size))
            mask = inputs["attention_mask"][..., None]
            return head((made.last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1).clamp_min(1))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_network"}


class FineTunedClassifier(ClassOutputs, _FineTuned):
    """A fine-tuned network that predicts probabilities."""


class FineTunedRegressor(NumberOutputs, _FineTuned):
    """A fine-tuned network that predicts numbers."""


def _padded(parts: list[torch.Tensor]) -> torch.Tensor:
    """Stacks tensors (1, ..., n) of different lengths, with zeros at the end of shorter ones."""
    longest = max(one.shape[-1] for one in parts)
    return torch.cat([functional.pad(one, (0, longest - one.shape[-1])) for one in parts])
