"""Encoders by a network in a folder of $PALMETTE_MODELS: one for each kind that such networks read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, EncoderStart, Layout, Transformer
from palmette.automl.encoders.scaled import standard
from palmette.automl.weights import FOLDER, NetworkFolder, network_folder

OPERATIONS = 4e10
"""Operations of a thread per second."""
BYTES = 4
"""Bytes per parameter."""
BESIDE_OTHERS = 6.0
"""Added to a starting point's rank if there are columns of other kinds."""


class FromFolder(Encoder):
    """Embeddings by a frozen network, from the first folder by name with a network of this kind."""

    usual = False
    once = True
    requires = ("torch", "safetensors", "transformers")
    path: ClassVar[str]
    """Import path of the transformer."""
    pieces: ClassVar[float]
    """Parts of a cell that pass through the whole network, e.g. patches of a picture."""
    rank: ClassVar[float]
    """Rank of the first starting point, as in `DefaultConfig`."""

    @property
    def network(self) -> NetworkFolder | None:
        return network_folder(self.kind)

    @property
    def weights(self) -> tuple[str, ...]:
        return (self.network.name,) if self.network else ()

    def unavailable(self) -> str:
        if self.network is None:
            return f"{self.name} needs a folder with a network for columns of kind {self.kind} in ${FOLDER}."
        return super().unavailable()

    def starts(self, facts: DataFacts) -> tuple[EncoderStart, ...]:
        later = BESIDE_OTHERS if {*facts.kinds} - {self.kind} else 0.0
        reason = f"on vectors of the network {self.network.name}" if self.network else ""
        return (
            EncoderStart("linear", self.rank + later, reason, {"C": 0.03} if facts.classes else {"alpha": 100.0}),
            EncoderStart("svc", self.rank + 0.1 + later, reason),
            EncoderStart("knn", 7.0, reason),
            EncoderStart("lightgbm", 8.0, reason),
        )

    @property
    def size(self) -> int:
        """Features per cell."""
        return self.network.features if self.network else 0

    @property
    def vectors(self) -> Call:
        """The transformer of raw cells."""
        one = self.network
        given = {"folder": one.name, "sha256": one.weights.sha256, "size": one.features} if one else {}
        return Call(self.path, given)

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        return self.vectors if layout == "tree" else pipeline(("network", self.vectors), *standard(facts))

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        return (False,) * (self.size * len(columns))

    def seconds(self, facts: DataFacts) -> float:
        parameters = self.network.weights.megabytes * 1e6 / BYTES if self.network else 0.0
        cells = facts.rows * facts.kinds.count(self.kind) / facts.folds  # once for all folds
        return 2 * parameters * self.pieces * cells / OPERATIONS
