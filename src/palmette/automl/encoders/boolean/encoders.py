"""Encoders of boolean columns."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout, Transformer
from palmette.automl.encoders.scaled import scaled


class Booleans(Encoder):
    name = "boolean"
    kind = "boolean"
    cell = 0.0
    description = "1 for yes and 0 for no, treated like numbers."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        if layout == "tree" or facts.supervised:
            return scaled(layout, facts)
        # Gives True and False half the usual distance between two rows in a number.
        share = Call("sklearn.impute.SimpleImputer", {"strategy": "mean", "keep_empty_features": True})
        apart = Call("sklearn.preprocessing.MinMaxScaler", {"feature_range": (0, 0.7)})
        return pipeline(("impute", share), ("scale", apart))
