"""Networks in PyTorch as scikit-learn estimators: the training loop, and what classes and numbers need."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.trained_networks import fastest_device
from palmette.automl.learners.wrappers import ProbabilityClassifier

STEPS_AN_EPOCH, SMALLEST_BATCH, LARGEST_BATCH = 16, 64, 512
"""Gradient steps per epoch, within these limits of the batch size."""


class EarlyStopping:
    """Stops training when the loss of validation rows stops falling; call it after each epoch.

    Args:
        network: Returns the network, which `fit` may build later.
        loss: Returns its loss on validation rows; None without any, and the last weights stay.
        patience: Epochs without a gain after which training stops.
        deadline: A value of time.monotonic() at which training stops.
    """

    def __init__(
        self,
        network: Callable[[], nn.Module],
        loss: Callable[[], float] | None,
        patience: int,
        deadline: float = math.inf,
    ) -> None:
        self.network, self.loss, self.patience, self.deadline = network, loss, patience, deadline
        self.lowest, self.epochs, self.best_epoch, self.best = math.inf, 0, 0, dict[str, Any]()

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


class NetworkEstimator(BaseEstimator):
    """Trains a network on numbers, with NaN for missing values; subclasses build it and prepare its inputs."""

    epochs: int
    random_state: int
    network_: Any
    learning_rate, weight_decay = 2e-3, 1e-3
    rows_at_once = 8192  # rows per batch in prediction

    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: Callable[[], bool] | None = None) -> Self:
        """Fits; `monitor` is called after each epoch and ends training if it returns True."""
        X, y = validate_data(self, X, y, dtype="float64", ensure_all_finite="allow-nan")
        weights, device = torch.as_tensor(_check_sample_weight(sample_weight, X)).float(), fastest_device()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            target, outputs = self._targets(y)
            self.network_, rows = self._built(X, outputs).to(device), self._tensors(X)
            parameters = self.network_.parameters()
            descent = torch.optim.AdamW(parameters, lr=self.learning_rate, weight_decay=self.weight_decay)
            batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, len(X) // STEPS_AN_EPOCH))
            for _ in range(self.epochs):
                self.network_.train()
                for some in torch.split(torch.randperm(len(X)), batch):
                    with torch.autocast(device, enabled=device == "cuda"):
                        made = self._forward([part[some].to(device) for part in rows]).float().cpu()
                    descend(descent, (self._losses(made, target[some]) * weights[some]).mean() / weights.mean())
                if monitor and monitor():
                    break
        self.network_.cpu().eval()
        return self

    def _built(self, X: np.ndarray, outputs: int) -> nn.Module:
        """Builds the network for training rows."""
        raise NotImplementedError

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        raise NotImplementedError

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Returns outputs (n, members, outputs) of rows on the device of the network."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = validate_data(self, X, dtype="float64", ensure_all_finite="allow-nan", reset=False)
        device = next(self.network_.eval().parameters()).device
        with torch.inference_mode():
            parts = zip(*(torch.split(part, self.rows_at_once) for part in self._tensors(X)), strict=True)
            return torch.cat([self._forward([part.to(device) for part in some]).cpu() for some in parts])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ClassOutputs(ProbabilityClassifier):
    """Turns outputs (n, members, classes) into probabilities, and classes into targets."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self._outputs(X).softmax(dim=2).mean(dim=1).double())

    def _targets(self, y: np.ndarray) -> tuple[torch.Tensor, int]:
        """Returns what the network learns, and its number of outputs."""
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        return torch.as_tensor(numbers), len(self.classes_)

    def _losses(self, outputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        members = target[:, None].expand(outputs.shape[:2])
        return functional.cross_entropy(outputs.transpose(1, 2), members, reduction="none").mean(dim=1)


class NumberOutputs(RegressorMixin):
    """Turns outputs (n, members, 1) into numbers on the scale of the target."""

    absolute = False  # whether to minimise the absolute error in place of the squared one

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self._outputs(X)[:, :, 0].mean(dim=1).double()) * self.scale_ + self.middle_

    def _targets(self, y: np.ndarray) -> tuple[torch.Tensor, int]:
        """Returns what the network learns, and its number of outputs."""
        y = y.astype("float64")
        self.middle_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        return torch.as_tensor((y - self.middle_) / self.scale_).float(), 1

    def _losses(self, outputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        difference = outputs[:, :, 0] - target[:, None]
        return (difference.abs() if self.absolute else difference.square()).mean(dim=1)
