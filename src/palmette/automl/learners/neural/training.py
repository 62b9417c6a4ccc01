"""Networks in PyTorch as scikit-learn estimators: the training loop, and what classes and numbers need."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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
ROWS_AT_ONCE = 8192  # rows per batch in prediction
DESCENT = {"lr": 2e-3, "weight_decay": 1e-3}


def train(
    network: nn.Module,
    descent: Any,
    losses: Callable[[], Iterator[torch.Tensor]],
    valid_loss: Callable[[], float] | None = None,
    *,
    epochs: int,
    patience: int = 1,
    deadline: float = math.inf,
) -> int:
    """Trains until the loss of validation rows stops falling, restores the best weights and returns their epochs.

    Args:
        network: The network.
        descent: The optimiser of its parameters.
        losses: Yields the loss of each batch of an epoch.
        valid_loss: Returns the loss of validation rows; None without any, and the last weights stay.
        epochs: Most epochs.
        patience: Epochs without a gain after which training stops.
        deadline: A value of time.monotonic() at which training stops.
    """
    best, lowest, taken = copy.deepcopy(network.state_dict()), math.inf, 0
    for epoch in range(1, epochs + 1):
        network.train()
        for loss in losses():
            descent.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # of PyTorch
            descent.step()
        reached = valid_loss() if valid_loss else -epoch
        if reached < lowest:
            best, lowest, taken = copy.deepcopy(network.state_dict()), reached, epoch
        if epoch - taken >= patience or time.monotonic() > deadline:
            break
    network.load_state_dict(best)
    return taken


def clipped(descent: Any) -> Any:
    """Limits the norm of all gradients to 1 in each step of an optimiser."""
    parameters = [one for group in descent.param_groups for one in group["params"]]

    def limit(*_: Any) -> None:
        nn.utils.clip_grad_norm_(parameters, 1.0)

    descent.register_step_pre_hook(limit)
    return descent


class NetworkEstimator(BaseEstimator):
    """Trains a network on numbers, with NaN for missing values; subclasses build it and say how rows go through it."""

    descent: Mapping[str, float] | None = None  # `lr` and `weight_decay` of AdamW
    epochs: int
    random_state: int
    network_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.fit_until(X, y, sample_weight=sample_weight)
        return self

    def fit_until(
        self,
        X: Any,
        y: Any,
        valid: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
        patience: int = 12,
        deadline: float = math.inf,
    ) -> int:
        """Fits and returns the number of epochs; with validation rows, the number that is best for them.

        Training stops after `patience` epochs without improvement, or at `deadline`, a value of time.monotonic().
        """
        X, y = validate_data(self, X, y, dtype="float64", ensure_all_finite="allow-nan", y_numeric=not self.is_class)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            weights = torch.as_tensor(_check_sample_weight(sample_weight, X)).float()
            network = self.network_ = self._built(X, self._outputs_of(y)).to(fastest_device())
            rows, target = self._tensors(X), torch.as_tensor(self._learnt(y))
            held = valid and (self._tensors(np.asarray(valid[0], dtype="float64")), valid[1])
            settings: dict[str, Any] = {**DESCENT, **(self.descent or {})}
            epochs = train(
                network,
                clipped(torch.optim.AdamW(network.parameters(), **settings)),
                lambda: self._batch_losses(rows, target, weights / weights.mean()),
                (lambda: self._valid_loss(*held)) if held else None,
                epochs=self.epochs,
                patience=patience,
                deadline=deadline,
            )
        network.eval()
        return epochs

    def _built(self, X: np.ndarray, outputs: int) -> nn.Module:
        """Builds the network for training rows."""
        raise NotImplementedError

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        raise NotImplementedError

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Returns outputs (n, members, outputs) of rows on the device of the network."""
        raise NotImplementedError

    def _passed(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Passes rows through the network; training on a GPU has mixed precision."""
        first = next(self.network_.parameters())
        moved = [part.to(first.device, first.dtype if part.is_floating_point() else None) for part in rows]
        mixed = self.network_.training and first.device.type == "cuda"
        with torch.autocast(first.device.type, enabled=mixed):
            return self._forward(moved).float().cpu()

    def _batch_losses(
        self, rows: list[torch.Tensor], target: torch.Tensor, weights: torch.Tensor
    ) -> Iterator[torch.Tensor]:
        batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, len(target) // STEPS_AN_EPOCH))
        for some in torch.split(torch.randperm(len(target)), batch):
            outputs = self._passed([part[some] for part in rows])
            members = outputs.shape[1]
            losses = self._losses(outputs.flatten(0, 1), target[some].repeat_interleave(members))
            yield (losses * weights[some].repeat_interleave(members)).mean()

    def _outputs(self, rows: list[torch.Tensor], batch: int = ROWS_AT_ONCE) -> torch.Tensor:
        self.network_.eval()
        with torch.inference_mode():
            parts = zip(*(torch.split(part, batch) for part in rows), strict=True)
            return torch.cat([self._passed(some) for some in parts])

    def _asked(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = validate_data(self, X, dtype="float64", ensure_all_finite="allow-nan", reset=False)
        return self._outputs(self._tensors(X))

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "network_"):
            self.network_.cpu()
        state: dict[str, Any] = super().__getstate__()
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ClassOutputs(ProbabilityClassifier):
    """Turns outputs (n, members, classes) into probabilities, and classes into targets."""

    is_class = True

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self._asked(X).softmax(dim=2).mean(dim=1).double())

    def _learnt(self, y: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.classes_, y)

    def _outputs_of(self, y: np.ndarray) -> int:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return len(self.classes_)

    def _losses(self, outputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(outputs, target, reduction="none")

    def _valid_loss(self, rows: list[torch.Tensor], y: np.ndarray) -> float:
        probabilities = self._outputs(rows).softmax(dim=2).mean(dim=1).clamp_min(1e-9)
        return float(functional.nll_loss(probabilities.log(), torch.as_tensor(self._learnt(y))))


class NumberOutputs(RegressorMixin):
    """Turns outputs (n, members, 1) into numbers on the scale of the target."""

    is_class = False
    absolute = False  # whether to minimise the absolute error in place of the squared one

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self._asked(X)[:, :, 0].mean(dim=1).double()) * self.scale_ + self.middle_

    def _learnt(self, y: np.ndarray) -> np.ndarray:
        return ((y - self.middle_) / self.scale_).astype("float32")

    def _outputs_of(self, y: np.ndarray) -> int:
        self.middle_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        return 1

    def _losses(self, outputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        difference = outputs[:, 0] - target
        return difference.abs() if self.absolute else difference.square()

    def _valid_loss(self, rows: list[torch.Tensor], y: np.ndarray) -> float:
        return float(self._losses(self._outputs(rows).mean(dim=1), torch.as_tensor(self._learnt(y))).mean())
