"""The learner of images in the track `neural`."""

from __future__ import annotations

from collections.abc import Mapping

from palmette.automl.calls import Call
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.kinds import Kind
from palmette.automl.learners.learner import (
    SUPERVISED,
    DefaultConfig,
    Learner,
    Measured,
    Range,
    Settings,
    TrainingSetup,
)

MOST_EPOCHS = 80
BESIDE_OTHERS = 60.0  # rank if there are other columns than images, because it learns mainly from pixels
ENCODER: Mapping[Kind, str] = {"image": "image_squares"}


class ImageNetwork(Learner):
    name = "image_network"
    track = "neural"
    layout = "dense"
    kinds = frozenset({"image"})
    problems = SUPERVISED
    families = frozenset({"neural_network", "deep_learning", "pytorch", "cnn", "convolutional_network"})
    requires = ("torch",)
    stops_early = True
    description = "A small convolutional network that learns from the pixels alone, on changed and mirrored pictures."
    measured = Measured(2.0, 1.5e-3, kilobytes=1000.0, milliseconds=8.0)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        path = setup.path("palmette.automl.learners.image_network.picture_networks.PictureNetwork")
        return Call(path, {**settings, "epochs": rounds or MOST_EPOCHS, "random_state": setup.seed})

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        rank = 3.0 if {*facts.kinds} == {"image"} else BESIDE_OTHERS
        mirrored, plain = "learnt from pixels, where a mirror image shows the same", {"mirrored": False}
        return (
            DefaultConfig(self.name, {}, mirrored, rank, encoders=ENCODER),
            DefaultConfig("image_network-plain", plain, "the same where left and right matter", rank, encoders=ENCODER),
        )

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "width": Range.whole(16, 64, 32, "channels of the first layer", log=True),
            "mirrored": Range.choice(False, True, default=True, note="whether a mirror image shows the same"),
        }
