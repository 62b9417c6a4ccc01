"""Learners that train, or use, neural networks: of tables, of pixels, and networks in a folder of $PALMETTE_MODELS."""

import copy
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from palmette.automl.calls import Call, with_arguments
from palmette.automl.candidates import Cost
from palmette.automl.encoders.audio.encoders import AudioFolder
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.encoders.image.encoders import ImageFolder
from palmette.automl.encoders.shared import FromFolder
from palmette.automl.encoders.text.encoders import TextFolder
from palmette.automl.kinds import Kind
from palmette.automl.learners.learner import FoldData, Learner, Measured, Range, Settings, TrainingSetup

HERE = "palmette.automl.learners.neural"
MOST_EPOCHS, PATIENCE = 200, 8
MANY = 2_000_000  # work above which layers are narrower
DESCENT = ("learning_rate", "weight_decay")  # settings of the training, not of the layers
FAMILIES = frozenset({"neural_network", "deep_learning", "pytorch"})


class NetworkLearner(Learner):
    """A learner whose estimator is a network in PyTorch: `fit` takes a `monitor`, and `network_` is its module."""

    track = "neural"
    requires: ClassVar[tuple[str, ...]] = ("torch",)
    stops_early = True
    patience: ClassVar[int] = 12  # epochs without a gain on validation rows after which training stops

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        from palmette.automl.learners.neural.training import EarlyStopping

        loss = (lambda: _loss(estimator, fold.valid, fold.valid_target)) if len(fold.valid_target) else None
        stopping = EarlyStopping(lambda: estimator.network_, loss, self.patience, deadline)
        estimator.fit(fold.train, fold.target, monitor=stopping, **fold.options)
        return stopping.restore()


class _Neural(NetworkLearner):
    layout = "dense"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        of_layers = {name: one for name, one in settings.items() if name not in DESCENT}
        given: dict[str, Any] = {"network": with_arguments(f"{HERE}.networks.{self.name}", **of_layers)}
        given |= {name: one for name, one in settings.items() if name in DESCENT}
        given |= {"absolute": True} if setup.is_absolute else {}
        given |= {"epochs": rounds or MOST_EPOCHS, "random_state": setup.seed}
        return Call(setup.path(f"{HERE}.training.Network"), given)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "width": Range.whole(32, 128 if facts.work > MANY else 256, 128, "units of a layer", log=True),
            "depth": Range.whole(1, 3, 2, "hidden layers"),
            "dropout": Range(0.0, 0.4, 0.1),
            "learning_rate": Range(5e-4, 5e-3, 2e-3, log=True),
            "weight_decay": Range(1e-4, 1e-1, 1e-3, log=True),
            "spread": Range(
                0.02, 1.0, 0.1, "of the frequencies of numbers; small ones give smooth functions", log=True
            ),
        }


class TabM(_Neural):
    name = "tabm"
    families = FAMILIES
    description = "Several networks in one, on numbers spread over waves."
    measured = Measured(2.24, 3.1e-5, kilobytes=2720.0, row=0.002, milliseconds=5.2)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        plain: Settings = {"spread": 0.02, "dropout": 0.2, "width": 96}
        waves = DefaultConfig("tabm", {}, "several networks in one, on numbers spread over waves", 12)
        return waves, DefaultConfig("tabm-plain", plain, "nearly straight in each number", 13)


class ResNet(_Neural):
    name = "resnet"
    families = FAMILIES | {"residual_network"}
    description = "A residual network, on numbers spread over waves."
    measured = Measured(1.12, 1.6e-5, kilobytes=1360.0, row=0.002, milliseconds=5.2)
    rank = 14
    reason = "deeper: each block corrects those before it"


MOST_PIXEL_EPOCHS = 80
BESIDE_OTHERS = 60.0  # rank if there are other columns than images, because it learns mainly from pixels


class ImageNetwork(NetworkLearner):
    name = "image_network"
    layout = "dense"
    kinds = frozenset({"image"})
    families = FAMILIES | {"cnn", "convolutional_network"}
    description = "A small convolutional network that learns from the pixels alone, on changed and mirrored pictures."
    measured = Measured(2.0, 1.5e-3, kilobytes=1000.0, milliseconds=8.0)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        network = with_arguments(f"{HERE}.picture_networks.PictureNetwork", **settings)
        given = {"network": network, "epochs": rounds or MOST_PIXEL_EPOCHS, "random_state": setup.seed}
        return Call(setup.path(f"{HERE}.training.Network"), given)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        if facts.kinds.count("image") > 1:
            return ()  # it compares no pictures
        rank = 3.0 if facts.is_alone("image") else BESIDE_OTHERS
        reasons = {
            "": "learnt from pixels, where a mirror image shows the same",
            "-plain": "the same where left and right matter",
        }
        squares: Mapping[Kind, str] = {"image": "image_squares"}
        return tuple(
            DefaultConfig(f"{self.name}{end}", {"mirrored": False} if end else {}, reason, rank, encoders=squares)
            for end, reason in reasons.items()
        )

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "width": Range.whole(16, 64, 32, "channels of the first layer", log=True),
            "mirrored": Range.choice(False, True, default=True, note="whether a mirror image shows the same"),
        }


EPOCHS, PASSES = 3, 3  # passes over the rows, and the cost of a training step in passes through the network
FASTER = 50.0  # a guess of how much faster a GPU is than a thread


class _FineTuning(Learner):
    """Trains a network further; on a processor only where cells are few."""

    track = "neural"
    layout = "rows"
    families = frozenset({"neural_network", "deep_learning", "fine_tuning", "transformer"})
    requires = ("torch", "safetensors", "transformers")
    folder: ClassVar[type[FromFolder]]

    @property
    def weights(self) -> tuple[str, ...]:
        return self.folder().weights

    @property
    def has_gpu(self) -> bool:
        from palmette.automl.encoders.trained_networks import fastest_device

        return fastest_device() != "cpu"

    def unavailable(self) -> str:
        return super().unavailable() or self.folder().unavailable()

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given = {**settings, "epochs": rounds or settings.get("epochs", EPOCHS), "random_state": setup.seed}
        return Call(setup.path(f"{HERE}.fine_tuned.FineTuned"), {"reader": self.folder().vectors, **given})

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        """Fits until the deadline.

        Raises:
            TimeoutError: The first epoch is not complete in time.
        """
        estimator.fit(fold.train, fold.target, monitor=lambda: time.monotonic() > deadline)
        if not estimator.epochs_:
            raise TimeoutError("the time was over before the network had seen all rows once")
        return int(estimator.epochs_)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        """Returns nothing beside columns of other kinds, which the network does not read."""
        alone = facts.is_alone(self.folder.kind) and (self.folder.kind == "text" or len(facts.kinds) == 1)
        return (DefaultConfig(self.name, {}, self.description, 0.9 if self.has_gpu else 40.0),) if alone else ()

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"epochs": Range.whole(1, 10, EPOCHS), "lr": Range(1e-5, 2e-4, 3e-5, "learning rate", log=True)}

    def cost(self, facts: DataFacts) -> Cost:
        one = self.folder()
        if one.network is None:
            return Cost(0.0, 0.0, 0.0)
        seconds = one.seconds(facts) * facts.folds / (FASTER if self.has_gpu else 1.0)  # one pass over all rows
        return Cost(seconds * facts.folds * EPOCHS * PASSES, one.network.megabytes, 1000 * seconds / facts.rows)


class TextFineTuning(_FineTuning):
    name = "text_fine_tuning"
    kinds = frozenset({"text"})
    folder = TextFolder
    description = "The network of texts in a folder of $PALMETTE_MODELS, trained further on these texts."


class ImageFineTuning(_FineTuning):
    name = "image_fine_tuning"
    kinds = frozenset({"image"})
    folder = ImageFolder
    description = "The network of images in a folder of $PALMETTE_MODELS, trained further on these images."


class AudioFineTuning(_FineTuning):
    name = "audio_fine_tuning"
    kinds = frozenset({"audio"})
    folder = AudioFolder
    description = "The network of sounds in a folder of $PALMETTE_MODELS, trained further on these sounds."


class TabPFN(Learner):
    name = "tabpfn"
    track = "pretrained"
    families = frozenset({"neural_network", "foundation_model"})
    requires = ("tabpfn",)
    most_rows = 10_000
    description = "A pretrained network that reads all training rows for each prediction: strong where they are few."
    measured = Measured(2.0, 1e-4, kilobytes=30_000.0, milliseconds=500.0)
    rank = 15
    reason = "strong where rows are few, without any tuning"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given: dict[str, Any] = {"n_estimators": 4, **settings, "ignore_pretraining_limits": True}
        if columns := setup.places:
            given["categorical_features_indices"] = columns
        return Call(setup.path("tabpfn.TabPFN"), {**given, "random_state": setup.seed})

    def unavailable(self) -> str:
        usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or usual) / "tabpfn"
        folder = Path(os.environ.get("TABPFN_MODEL_CACHE_DIR") or cache)
        if (lacking := super().unavailable()) or any(folder.glob("*.ckpt")):
            return lacking
        return (
            f"tabpfn needs its weights, and {folder} has none: download them as its documentation describes, "
            "or name their folder in TABPFN_MODEL_CACHE_DIR."
        )


class Perceptron(Learner):
    """The multilayer perceptron of scikit-learn."""

    name = "mlp"
    stops_early = True
    layout = "dense"
    families = frozenset({"neural_network", "perceptron", "multilayer_perceptron"})
    description = "A neural network with two hidden layers, stopped at its best epoch."
    measured = Measured(0.28, 3.9e-6, kilobytes=340.0)
    rank = 7
    reason = "smooth where trees are steps"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        width = int(settings.get("width") or 128)
        given = {
            "hidden_layer_sizes": (width, max(8, width // 2)),
            "alpha": settings.get("alpha", 1e-3),
            "learning_rate_init": settings.get("learning_rate", 2e-3),
            "max_iter": rounds or MOST_EPOCHS,
            "tol": 0,
            "random_state": setup.seed,
        }
        if setup.facts.classes:
            return Call("sklearn.neural_network.MLPClassifier", given)
        scaled = {"transformer": Call("sklearn.preprocessing.StandardScaler")}
        network = Call("sklearn.neural_network.MLPRegressor", given)
        return Call("sklearn.compose.TransformedTargetRegressor", {"regressor": network, **scaled})

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "width": Range.choice(32, 64, 128, 256, default=128, note="units of the first layer"),
            "alpha": Range(1e-5, 1e-1, 1e-3, "strength of the L2 penalty", log=True),
            "learning_rate": Range(5e-4, 5e-3, 2e-3, log=True),
        }

    def fit(self, estimator: Any, fold: FoldData, deadline: float) -> int | None:
        """Fits epoch by epoch and keeps the network of the best epoch."""
        is_scaled, target, valid_target = hasattr(estimator, "regressor"), fold.target, fold.valid_target
        super().fit(estimator.set_params(**{"regressor__max_iter" if is_scaled else "max_iter": 1}), fold, deadline)
        network = estimator.regressor_ if is_scaled else estimator
        if is_scaled:
            scale = estimator.transformer_.transform
            target, valid_target = (scale(one.reshape(-1, 1)).ravel() for one in (target, valid_target))
        best, lowest, rounds = copy.deepcopy(network), _loss(network, fold.valid, valid_target), 1
        for epoch in range(2, MOST_EPOCHS + 1):
            if epoch - rounds > PATIENCE or time.monotonic() > deadline:
                break
            network.partial_fit(fold.train, target, **fold.options)
            loss = _loss(network, fold.valid, valid_target)
            if loss < lowest:
                best, lowest, rounds = copy.deepcopy(network), loss, epoch
        network.__dict__.update(best.__dict__)
        return rounds


def _loss(network: Any, rows: Any, target: Any) -> float:
    if not hasattr(network, "predict_proba"):
        errors = np.abs(network.predict(rows) - target)
        return float(np.mean(errors if getattr(network, "absolute", False) else errors**2))
    right = network.predict_proba(rows)[np.arange(len(target)), np.searchsorted(network.classes_, target)]
    return float(-np.log(np.maximum(right, 1e-9)).mean())
