"""Networks in PyTorch as scikit-learn estimators: the training loop, and what classes and numbers need."""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import nn


@dataclass
class EarlyStopping:
    """Stops training when the loss of validation rows stops falling; call it after each epoch."""

    network: Callable[[], nn.Module]  # returns the network, which `fit` may build later
    loss: Callable[[], float] | None  # returns its loss on validation rows; None without any: the last weights stay
    patience: int  # epochs without a gain after which training stops
    deadline: float = math.inf  # value of time.monotonic() at which training stops

    lowest, epochs, best_epoch = math.inf, 0, 0
    best: Any = None

    def __call__(self) -> bool:
        """Returns whether to stop."""
        self.epochs += 1
        loss = self.loss() if self.loss else -self.epochs
        if loss < self.lowest:
            self.lowest, self.best_epoch = loss, self.epochs
            self.best = copy.deepcopy(self.network().state_dict())
        return self.epochs - self.best_epoch >= self.patience or time.monotonic() > self.deadline

    def restore(self) -> int:
        """Restores the weights of the best epoch, and returns its number."""
        if self.best:
            self.network().load_state_dict(self.best)
        return self.best_epoch


def descend(descent: Any, loss: torch.Tensor, norm: float = 1.0) -> None:
    """Takes a step of an optimiser, with the norm of all gradients limited."""
    descent.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]  # of PyTorch
    nn.utils.clip_grad_norm_([one for group in descent.param_groups for one in group["params"]], norm)
    descent.step()


@dataclass(eq=False, repr=False)
class _Network(BaseEstimator):
    """Trains a network; its outputs have the shape (n, members, outputs), and the members' mean is the prediction."""

    network: Callable[[torch.Tensor, int], nn.Module]  # builds it for training rows (n, d) and a number of outputs
    epochs: int = 60  # passes over the training rows
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: Callable[[], bool] | None = None) -> Self:
        """Fits; `monitor` is called after each epoch and ends training if it returns True."""
        X, y = validate_data(self, X, y, dtype="float32")
        weights = torch.tensor(_check_sample_weight(sample_weight, X), dtype=torch.float32)
        device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
        batch = min(512, max(64, len(X) // 16))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            target, outputs = self._targets(y)
            network = self.network_ = self.network(rows := torch.tensor(X), outputs).to(device)
            rows, target, weights = (one.to(device) for one in (rows, target, weights))
            descent = torch.optim.AdamW(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
            for _ in range(self.epochs):
                network.train()
                for some in torch.split(torch.randperm(len(X)).to(device), batch):
                    loss = (self._losses(network(rows[some]), target[some]) * weights[some]).mean() / weights.mean()
                    descent.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    descent.step()
                if monitor and monitor():
                    break
        network.cpu().eval()
        return self

    def _outputs(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        rows = torch.tensor(validate_data(self, X, dtype="float32", reset=False))
        device = next(self.network_.eval().parameters()).device
        with torch.inference_mode():
            return torch.cat([self.network_(some.to(device)).cpu() for some in torch.split(rows, 4096)])


class ClassOutputs(ClassifierMixin):
    """Turns outputs (n, members, classes) into probabilities, and classes into targets and the number of outputs."""

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self._outputs(X).softmax(dim=2).mean(dim=1).double())

    def _targets(self, y: np.ndarray) -> tuple[torch.Tensor, int]:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        return torch.as_tensor(numbers), len(self.classes_)

    def _losses(self, outputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return -outputs.log_softmax(dim=2)[torch.arange(len(target)), :, target].mean(dim=1)


class NumberOutputs(RegressorMixin):
    """Turns outputs (n, members, 1) into numbers on the scale of the target; learns it with mean 0 and deviation 1."""

    absolute: bool = False  # whether to minimise the absolute error in place of the squared one

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self._outputs(X)[:, :, 0].mean(dim=1).double()) * self.scale_ + self.middle_

    def _targets(self, y: np.ndarray) -> tuple[torch.Tensor, int]:
        y = y.astype("float64")
        self.middle_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        return torch.as_tensor((y - self.middle_) / self.scale_).float(), 1

    def _losses(self, outputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        difference = outputs[:, :, 0] - target[:, None]
        return (difference.abs() if self.absolute else difference.square()).mean(dim=1)


class NetworkClassifier(ClassOutputs, _Network):
    """A neural network that predicts probabilities."""


@dataclass(eq=False, repr=False)
class NetworkRegressor(NumberOutputs, _Network):
    """A neural network that predicts numbers."""

    absolute: bool = False
