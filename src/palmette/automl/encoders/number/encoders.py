"""Encoders of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout, Transformer
from palmette.automl.encoders.scaled import FAR_APART, SQUASHED, STANDARD, clipped, imputer, scaled, standard

QUANTILES = 200


class Numbers(Encoder):
    name = "number"
    kind = "number"
    description = "Numbers as they are for trees; else the median for missing ones with a flag, on a robust scale."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        return scaled(layout, facts)


class Splines(Encoder):
    name = "number_splines"
    kind = "number"
    layouts = frozenset({"dense", "sparse"})
    usual = False
    description = "Numbers and a cubic spline of each: a model that adds up columns then adds up curves."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        curves = Call("sklearn.preprocessing.SplineTransformer", {"knots": "quantile", "extrapolation": "constant"})
        both = [("line", pipeline(*standard(facts))), ("curves", curves)]
        union = Call("sklearn.pipeline.FeatureUnion", {"transformer_list": both})
        return pipeline(("impute", imputer(facts)), ("features", union))


class Shares(Encoder):
    name = "number_shares"
    kind = "number"
    layouts = frozenset({"sparse"})
    usual = False
    description = "Numbers as shares of their row, whose squares add up to 1: for counts of many words."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        return pipeline(("impute", imputer(facts)), ("shares", Call("sklearn.preprocessing.Normalizer")))


class Squashed(Encoder):
    name = "number_squashed"
    kind = "number"
    layouts = frozenset({"dense"})
    usual = False
    description = "Numbers on like scales, after long tails are drawn in."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        steps = ("squash", SQUASHED), ("scale", STANDARD), ("clip", clipped(FAR_APART))
        return pipeline(("impute", imputer(facts)), *steps)


class Normal(Encoder):
    name = "number_normal"
    kind = "number"
    layouts = frozenset({"dense"})
    usual = False
    description = "Numbers by rank, as a normal distribution: only the order of the values counts."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        ranks = {"n_quantiles": max(2, min(QUANTILES, facts.rows // 2)), "output_distribution": "normal"}
        normal = Call("sklearn.preprocessing.QuantileTransformer", {**ranks, "random_state": 0})
        return pipeline(("impute", imputer(facts)), ("ranks", normal), *standard(facts))
