"""Learners that fine-tune a network in a folder of $PALMETTE_MODELS; on a processor only where cells are few."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from palmette.automl.calls import Call
from palmette.automl.encoders.audio.encoders import AudioFolder
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.encoders.image.encoders import ImageFolder
from palmette.automl.encoders.shared import FromFolder
from palmette.automl.encoders.text.encoders import TextFolder
from palmette.automl.learners.learner import Cost, DefaultConfig, Learner, Range, Settings, TrainingSetup

EPOCHS, PASSES = 3, 3  # passes over the rows, and the cost of a training step in passes through the network
FASTER = 50.0  # how much faster a GPU is than a thread
GPU = Path("/proc/driver/nvidia")


class _FineTuning(Learner):
    track = "neural"
    layout = "rows"
    families = frozenset({"neural_network", "deep_learning", "fine_tuning", "transformer"})
    requires = ("torch", "safetensors", "transformers")
    folder: ClassVar[type[FromFolder]]

    @property
    def weights(self) -> tuple[str, ...]:
        return self.folder().weights

    def unavailable(self) -> str:
        return self.folder().unavailable()

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given = {**settings, "epochs": rounds or settings.get("epochs", EPOCHS), "random_state": setup.seed}
        path = setup.path("palmette.automl.learners.fine_tuning.fine_tuned.FineTuned")
        return Call(path, {"reader": self.folder().vectors, **given})

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        """Returns nothing beside columns of other kinds, which the network does not read."""
        alone = {*facts.kinds} == {self.folder.kind} and (self.folder.kind == "text" or len(facts.kinds) == 1)
        rank = 0.9 if GPU.exists() else 40.0
        return (DefaultConfig(self.name, {}, self.description, rank),) if alone else ()

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {"epochs": Range.whole(1, 10, EPOCHS), "lr": Range(1e-5, 2e-4, 3e-5, "learning rate", log=True)}

    def cost(self, facts: DataFacts) -> Cost:
        one = self.folder()
        seconds = one.seconds(facts) * facts.folds / (FASTER if GPU.exists() else 1.0)  # one pass over all rows
        size = one.network.weights.megabytes if one.network else 0.0
        return Cost(seconds * facts.folds * EPOCHS * PASSES, size, 1000 * seconds / facts.rows)


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
