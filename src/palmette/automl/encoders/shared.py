"""Encoders that several kinds share: scaling, cross-fitted scores, and networks in a folder of $PALMETTE_MODELS."""

import math
from collections.abc import Sequence
from typing import ClassVar

from palmette.automl.calls import Call, function_step, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import MOST_PAIRED, DataFacts, DefaultConfig, Encoder, Layout, Transformer
from palmette.automl.kinds import Kind
from palmette.automl.weights import FOLDER, Weights, network_folder

SQUASHED = Call("palmette.automl.encoders.transformers.SquashingScaler")
STANDARD = Call("sklearn.preprocessing.StandardScaler")
FAR, FAR_APART = 4.0, 3.0
"""Standard deviations at which numbers are clipped; tighter for clustering, so that outliers form no clusters."""


def scaled(layout: Layout, facts: DataFacts, *first: tuple[str, Call]) -> Transformer:
    """Turns numbers with missing values, after a `first` step if there is one, into features of a layout."""
    if layout == "tree":
        return first[0][1] if first else "passthrough"
    squash = layout == "dense" and facts.supervised
    steps = (("scale", SQUASHED),) if squash else standard(facts)
    return pipeline(*first, ("impute", imputer(facts)), *steps)


def imputer(facts: DataFacts) -> Call:
    """Replaces missing numbers by the median; with a target to learn, also adds columns that flag them."""
    flags = {"add_indicator": True} if facts.supervised else {}
    return Call("sklearn.impute.SimpleImputer", {"strategy": "median", **flags, "keep_empty_features": True})


def standard(facts: DataFacts) -> tuple[tuple[str, Call], ...]:
    """Scales to mean 0 and standard deviation 1, and clips outliers."""
    far = FAR if facts.supervised else FAR_APART
    return (("scale", STANDARD), ("clip", function_step("numpy.clip", a_min=-far, a_max=far)))


SCORES = "palmette.automl.encoders.transformers.CrossFittedScores"


def score_step(facts: DataFacts, alpha: float | None = None) -> tuple[str, Call]:
    """Returns the last step of a pipeline: cross-fitted scores of the preceding features."""
    given = {} if alpha is None else {"alpha": alpha}
    return "scores", Call(SCORES, {"kind": "classes" if facts.classes else "number", **given})


class Scored(Encoder):
    """Mixin before an encoder with the layout `sparse`: replaces each column of the kind, and all of them together, by
    the cross-fitted output of a regression on that encoder's features."""

    usual = False
    usual_beside = True

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        return ()

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        made = super().transformer(columns, "sparse", facts)
        if not facts.supervised or not isinstance(made, Call):
            return made
        level = () if layout == "tree" else (("level", SQUASHED),)
        made = pipeline(*made.arguments["steps"], score_step(facts), *level)
        parts = [(f"regression_{place}", made, [one.name]) for place, one in enumerate(columns, 1)]
        parts.append(("regression_all", made, [one.name for one in columns]))
        return Call("sklearn.compose.ColumnTransformer", {"transformers": parts}) if len(columns) > 1 else made

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        return (False,) * (facts.outputs * (len(columns) + (len(columns) > 1)))


OPERATIONS = 4e10  # operations of a thread per second
BYTES = 4  # bytes per parameter


def starts_on_vectors(
    facts: DataFacts, kind: Kind, rank: float, reason: str, penalties: tuple[float, float]
) -> tuple[DefaultConfig, ...]:
    """Returns learners to try on vectors of a frozen network.

    `rank` is that of the first one, if there are no other columns; `penalties` are `C` and `alpha` of a linear model.
    """
    first = rank + facts.later(kind)
    return (
        DefaultConfig("linear", {"C": penalties[0]} if facts.classes else {"alpha": penalties[1]}, reason, first),
        DefaultConfig("svc", {}, reason, first + 0.1),
        DefaultConfig("knn", {}, reason, 7.0),
        DefaultConfig("lightgbm", {}, reason, 8.0),
    )


class VectorEncoder(Encoder):
    """Turns each cell into a vector, once per search, and joins the vectors of columns by `side_by_side`."""

    once = True
    path: ClassVar[str]  # import path of the transformer

    @property
    def size(self) -> int:
        """Length of a cell's vector."""
        return self.features

    @property
    def vectors(self) -> Call:
        """The transformer of raw cells."""
        return Call(self.path)

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        return self.vectors if layout == "tree" else pipeline(("vectors", self.vectors), *standard(facts))

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        pairs = math.comb(min(len(columns), MOST_PAIRED), 2)
        return (False,) * (self.size * len(columns) + (2 * self.size + 1) * pairs)


class FromFolder(VectorEncoder):
    """Embeddings by a frozen network, from the first folder by name with a network of this kind."""

    usual = False
    requires = ("torch", "safetensors", "transformers")
    pieces: ClassVar[float]  # parts of a cell that pass through the whole network, e.g. patches of a picture
    rank: ClassVar[float]  # rank of the first starting point, as in `DefaultConfig`

    @property
    def network(self) -> Weights | None:
        return network_folder(self.kind)

    @property
    def weights(self) -> tuple[str, ...]:
        return (self.network.folder,) if self.network else ()

    def unavailable(self) -> str:
        if self.network is None:
            return f"{self.name} needs a folder with a network for columns of kind {self.kind} in ${FOLDER}."
        return super().unavailable()

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        reason = f"on vectors of the network {self.network.folder}" if self.network else ""
        return starts_on_vectors(facts, self.kind, self.rank, reason, (0.03, 100.0))

    @property
    def size(self) -> int:
        return self.network.features if self.network else 0

    @property
    def vectors(self) -> Call:
        one = self.network
        given = {"folder": one.folder, "sha256": one.sha256, "size": one.features} if one else {}
        return super().vectors.where(**given)

    def seconds(self, facts: DataFacts) -> float:
        parameters = self.network.megabytes * 1e6 / BYTES if self.network else 0.0
        cells = facts.rows * self.cells(facts) / facts.folds  # once for all folds
        return 2 * parameters * self.pieces * cells / OPERATIONS
