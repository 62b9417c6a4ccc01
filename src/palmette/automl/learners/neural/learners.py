"""The learners of tables in the track `neural`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palmette.automl.calls import Call
from palmette.automl.candidates import Setting
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import DefaultConfig, Learner, Measured, Range, Settings, TrainingSetup

MOST_EPOCHS = 200
MANY = 2_000_000  # work above which layers are narrower
LAYERS: Mapping[str, Setting] = {"width": 128, "depth": 2, "dropout": 0.1, "spread": 0.1}
FAMILIES = frozenset({"neural_network", "deep_learning", "pytorch"})


class _Neural(Learner):
    track = "neural"
    requires = ("torch",)
    stops_early = True

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        layers = {**LAYERS, **{name: value for name, value in settings.items() if name in LAYERS}}
        descent = {"lr": settings.get("learning_rate", 2e-3), "weight_decay": settings.get("weight_decay", 1e-3)}
        given: dict[str, Any] = {"architecture": self.name, "epochs": rounds or MOST_EPOCHS, "layers": layers}
        given |= {"descent": descent} | ({"categorical": setup.places} if setup.places else {})
        given |= {"absolute": True} if setup.is_absolute else {}
        path = setup.path("palmette.automl.learners.neural.networks.Network")
        return Call(path, {**given, "random_state": setup.seed})

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
    description = "Several networks in one, on numbers spread over waves and learnt vectors of categories."
    measured = Measured(2.24, 3.1e-5, kilobytes=2720.0, row=0.002, milliseconds=5.2)

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        plain: Settings = {"spread": 0.02, "dropout": 0.2, "width": 96}
        waves = DefaultConfig("tabm", {}, "several networks in one, on numbers spread over waves", 12)
        return waves, DefaultConfig("tabm-plain", plain, "nearly straight in each number", 13)


class ResNet(_Neural):
    name = "resnet"
    families = FAMILIES | {"residual_network"}
    description = "A residual network, on numbers spread over waves and learnt vectors of categories."
    measured = Measured(1.12, 1.6e-5, kilobytes=1360.0, row=0.002, milliseconds=5.2)
    rank = 14
    reason = "deeper: each block corrects those before it"
