"""Encoders of images."""

from collections.abc import Sequence
from typing import ClassVar

from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig, Layout, Transformer
from palmette.automl.encoders.shared import FromFolder, Scored, VectorEncoder, standard, starts_on_vectors

FEATURES = "palmette.automl.encoders.image.pictures"
SQUARE = 32  # side in pixels of pictures for networks


class _Pictures(VectorEncoder):
    kind = "image"
    requires: ClassVar[tuple[str, ...]] = ("PIL",)


class Shapes(_Pictures):
    name = "image_shapes"
    description = "Histograms of oriented gradients, textures and colours, and a thumbnail: needs no training."
    features, cell = 604, 0.003

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        features = Call(f"{FEATURES}.ShapesAndColours", {} if layout == "dense" else {"cell": 16})
        return pipeline(("shapes", features), *standard(facts)) if layout == "sparse" else features


class ShapesScores(Scored, Shapes):
    name = "image_shapes_scores"
    description = "What shapes and colours say about the target, by a cross-fitted regression for each column."


class Squares(_Pictures):
    name = "image_squares"
    usual = False
    layouts = frozenset({"dense"})
    description = "The pixels at 32 by 32, for networks that learn from them."
    cell = 0.001

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        return Call(f"{FEATURES}.Thumbnails", {"size": SQUARE})


class Pretrained(_Pictures):
    name = "image_pretrained"
    usual = False
    requires = ("PIL", "torch")
    trained = ("efficientnet-lite0",)
    description = "What EfficientNet-Lite0, trained on photographs, sees in a picture: strong on photographs."
    path = "palmette.automl.encoders.image.pretrained.PhotographFeatures"
    features, cell = 1280, 0.03

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        reason = "on what a network that knows photographs sees"
        return starts_on_vectors(facts, self.kind, 0.1, reason, (0.01, 1000.0))

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        return pipeline(("vectors", self.vectors), *standard(facts)) if layout == "sparse" else self.vectors


class PretrainedScores(Scored, Pretrained):
    name = "image_scores"
    description = "What the network sees says about the target, by a cross-fitted regression for each column."


class ImageFolder(FromFolder):
    name = "image_folder"
    kind = "image"
    description = "Vectors of pictures by the network in a folder of $PALMETTE_MODELS, such as DINOv2."
    path = "palmette.automl.encoders.image.network_pictures.PictureNetworkVectors"
    pieces = 256
    rank = 0.05
