"""Neural networks for tables as scikit-learn estimators, in PyTorch."""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import nn
from torch.nn import functional

from palmette.automl.encoders.transformers import SquashingScaler
from palmette.automl.learners.wrappers import ProbabilityClassifier


class Waves(nn.Module):
    """Embeds each number by sines and cosines of learnt frequencies, mixed to a few values (Gorishniy et al., 2022)."""

    def __init__(self, numbers: int, spread: float, frequencies: int = 16, width: int = 8) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(torch.randn(numbers, frequencies) * spread)
        self.mix = nn.Linear(2 * frequencies + 1, width)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Embeds (n, numbers) as (n, numbers * width)."""
        angles = 2 * math.pi * self.frequencies * numbers[..., None]
        waves = torch.cat([angles.sin(), angles.cos(), numbers[..., None]], dim=-1)
        return functional.relu(self.mix(waves)).flatten(1)


class RowVectors(nn.Module):
    """Encodes a row as one vector of length `size`: embeddings of its numbers and of its categories."""

    def __init__(self, numbers: int, categories: Sequence[int], spread: float) -> None:
        super().__init__()
        lengths = [min(24, 1 + round(1.6 * count**0.5)) for count in categories]
        self.waves = Waves(numbers, spread)
        self.vectors = nn.ModuleList(map(nn.Embedding, categories, lengths))
        self.size = numbers * self.waves.mix.out_features + sum(lengths)

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        parts = [one(categories[:, place]) for place, one in enumerate(self.vectors)]
        return torch.cat([self.waves(numbers), *parts], dim=1)


class SharedLinear(nn.Module):
    """A linear layer for several networks at once, which differ only in scales and shifts."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.before = nn.Parameter(torch.randint(0, 2, (members, inputs)) * 2.0 - 1.0)
        self.after = nn.Parameter(torch.ones(members, outputs))
        self.shift = nn.Parameter(torch.zeros(members, outputs))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Maps (n, members, inputs) to (n, members, outputs)."""
        return self.linear(values * self.before) * self.after + self.shift


class Residual(nn.Module):
    """Adds the output of two layers to their input."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        wide = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(dropout))
        self.change = nn.Sequential(wide, nn.Linear(2 * width, width))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values + self.change(values)


def shared_layers(inputs: int, outputs: int, width: int, depth: int, dropout: float, members: int = 4) -> nn.Module:
    """Several networks in one that train together and predict their mean: TabM (Gorishniy et al., 2024)."""
    sizes = [inputs] + [width] * depth
    layers = [
        nn.Sequential(SharedLinear(members, before, after), nn.ReLU(), nn.Dropout(dropout))
        for before, after in itertools.pairwise(sizes)
    ]
    return nn.Sequential(nn.Unflatten(1, (1, inputs)), *layers, SharedLinear(members, width, outputs))


def residual_layers(inputs: int, outputs: int, width: int, depth: int, dropout: float) -> nn.Module:
    """A residual network; its output has one member."""
    blocks = [Residual(width, dropout) for _ in range(depth)]
    last = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, outputs))
    return nn.Sequential(nn.Linear(inputs, width), *blocks, last, nn.Unflatten(1, (1, outputs)))


STEPS_AN_EPOCH, SMALLEST_BATCH, LARGEST_BATCH = 16, 64, 512
"""Gradient steps per epoch, within these limits of the batch size."""
ROWS_AT_ONCE = 8192  # rows per batch in prediction
SHAPE = {"width": 128, "depth": 2, "dropout": 0.1, "spread": 0.1}
DESCENT = {"lr": 2e-3, "weight_decay": 1e-3}
ARCHITECTURES = {"tabm": shared_layers, "resnet": residual_layers}


def best_epochs(
    network: nn.Module, learn: Callable[[], None], loss: Callable[[], float] | None, epochs: int, patience: int,
    deadline: float = math.inf,
) -> int:  # fmt: skip
    """Trains until the loss of validation rows stops falling, restores the best weights and returns their epochs.

    Args:
        network: The network.
        learn: Trains it for an epoch.
        loss: Returns the loss of validation rows; None without any, and the last weights stay.
        epochs: Most epochs.
        patience: Epochs without a gain after which training stops.
        deadline: A value of time.monotonic() at which training stops.
    """
    best, lowest, taken = copy.deepcopy(network.state_dict()), math.inf, 0
    for epoch in range(1, epochs + 1):
        learn()
        reached = loss() if loss else -epoch
        if reached < lowest:
            best, lowest, taken = copy.deepcopy(network.state_dict()), reached, epoch
        if epoch - taken >= patience or time.monotonic() > deadline:
            break
    network.load_state_dict(best)
    return taken


@dataclass(eq=False, repr=False)
class _Network(BaseEstimator):
    """A network on numbers, with NaN for missing values, in which some columns are category codes."""

    architecture: str = "tabm"  # `tabm`, several networks that share most weights, or `resnet`
    # positions of the columns that are codes: whole numbers from 0, NaN for an unknown category
    categorical: Sequence[int] = ()
    epochs: int = 60  # passes over the training rows; the maximum if validation rows stop training early
    # `width` of a layer, `depth` in hidden layers or blocks, `dropout`, and `spread`, the standard deviation of the
    # frequencies of numeric embeddings: small ones give smooth functions
    layers: Mapping[str, float] | None = None
    descent: Mapping[str, float] | None = None  # `lr` and `weight_decay` of AdamW
    absolute: bool = False  # regression: whether to minimise the absolute error in place of the squared one
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.fit_until(X, y, sample_weight=sample_weight)
        return self

    def fit_until(
        self, X: Any, y: Any, valid: tuple[Any, Any] | None = None, sample_weight: Any = None,
        patience: int = 12, deadline: float = math.inf,
    ) -> int:  # fmt: skip
        """Fits and returns the number of epochs; with validation rows, the number that is best for them.

        Training stops after `patience` epochs without improvement, or at `deadline`, a value of time.monotonic().
        """
        X, y = validate_data(self, X, y, dtype="float64", ensure_all_finite="allow-nan", y_numeric=not self._is_class)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            weights = torch.as_tensor(_check_sample_weight(sample_weight, X)).float()
            rows, held = self._started(X, y), valid and (self._tensors(np.asarray(valid[0], dtype="float64")), valid[1])
            target = torch.as_tensor(self._learnt(y))
            settings: dict[str, Any] = {**DESCENT, **(self.descent or {})}
            descent = torch.optim.AdamW(self.network_.parameters(), **settings)
            epochs = best_epochs(
                self.network_,
                lambda: self._learn(rows, target, weights / weights.mean(), descent),
                (lambda: self._valid_loss(*held)) if held else None,
                self.epochs,
                patience=patience,
                deadline=deadline,
            )
        self.network_.eval()
        return epochs

    def _started(self, X: np.ndarray, y: np.ndarray) -> list[torch.Tensor]:
        """Sets up scales and network for the training rows, and returns their tensors."""
        numbers, categories = self._divided(X)
        self.scales_ = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), SquashingScaler()
        )
        count = self.scales_.fit_transform(numbers).shape[1] if numbers.shape[1] else 0
        self.counts_ = [int(column.max()) + 1 for column in categories.T]
        shape: dict[str, Any] = {**SHAPE, **(self.layers or {})}
        inputs = RowVectors(count, self.counts_, shape.pop("spread"))
        body = ARCHITECTURES[self.architecture](inputs.size, self._outputs_of(y), **shape)
        self.network_ = nn.ModuleList([inputs, body])
        return self._tensors(X)

    def _divided(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns numbers, and category codes from 1; 0 is an unknown category."""
        places = list(self.categorical)
        return np.delete(X, places, axis=1), np.nan_to_num(X[:, places] + 1).astype("int64")

    def _tensors(self, X: np.ndarray) -> list[torch.Tensor]:
        numbers, categories = self._divided(X)
        scaled = self.scales_.transform(numbers) if numbers.shape[1] else numbers
        known = np.where(categories < self.counts_, categories, 0) if categories.shape[1] else categories
        return [torch.as_tensor(scaled, dtype=torch.float32), torch.as_tensor(known)]

    def _forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """Returns outputs (n, members, outputs)."""
        inputs, body = self.network_
        return body(inputs(*rows))

    def _learn(self, rows: list[torch.Tensor], target: torch.Tensor, weights: torch.Tensor, descent: Any) -> None:
        self.network_.train()
        batch = min(LARGEST_BATCH, max(SMALLEST_BATCH, len(target) // STEPS_AN_EPOCH))
        for some in torch.split(torch.randperm(len(target)), batch):
            descent.zero_grad()
            outputs = self._forward([part[some] for part in rows])
            members = outputs.shape[1]
            losses = self._losses(outputs.flatten(0, 1), target[some].repeat_interleave(members))
            (losses * weights[some].repeat_interleave(members)).mean().backward()
            nn.utils.clip_grad_norm_(self.network_.parameters(), 1.0)
            descent.step()

    def _outputs(self, rows: list[torch.Tensor]) -> torch.Tensor:
        self.network_.eval()
        with torch.inference_mode():
            parts = zip(*(torch.split(part, ROWS_AT_ONCE) for part in rows), strict=True)
            return torch.cat([self._forward(some) for some in parts])

    def _asked(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = validate_data(self, X, dtype="float64", ensure_all_finite="allow-nan", reset=False)
        return self._outputs(self._tensors(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class NetworkClassifier(ProbabilityClassifier, _Network):
    """A neural network for tables that predicts probabilities."""

    _is_class = True

    def predict_proba(self, X: Any) -> np.ndarray:
        return self._asked(X).softmax(dim=2).mean(dim=1).double().numpy()

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


class NetworkRegressor(RegressorMixin, _Network):
    """A neural network for tables that predicts numbers."""

    _is_class = False

    def predict(self, X: Any) -> np.ndarray:
        return self._asked(X)[:, :, 0].mean(dim=1).double().numpy() * self.scale_ + self.middle_

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
