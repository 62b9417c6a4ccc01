"""Encoders whose features are predictions of the target by a regression on another encoder's features."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.automl.calls import Call, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import LAYOUTS, DataFacts, Encoder, EncoderStart, Layout, Transformer
from palmette.automl.encoders.scaled import SQUASHED

SCORES = "palmette.automl.encoders.scores.CrossFittedScores"


def each_column(name: str, transformer: Transformer, columns: Sequence[ColumnUse]) -> Transformer:
    """Applies the transformer to each column separately."""
    parts = [(f"{name}_{place}", transformer, [one.name]) for place, one in enumerate(columns, 1)]
    return Call("sklearn.compose.ColumnTransformer", {"transformers": parts}) if len(parts) > 1 else transformer


def score_step(facts: DataFacts, alpha: float | None = None) -> tuple[str, Call]:
    """Returns the last step of a pipeline: cross-fitted scores of the preceding features."""
    given = {} if alpha is None else {"alpha": alpha}
    return "scores", Call(SCORES, {"kind": "classes" if facts.classes else "number", **given})


class Scored(Encoder):
    """Mixin before an encoder with the layout `sparse`: replaces each column of the kind by the cross-fitted output of
    a regression on that encoder's features."""

    usual = False
    usual_beside = True
    layouts = LAYOUTS

    def starts(self, facts: DataFacts) -> tuple[EncoderStart, ...]:
        return ()

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        made = super().transformer(columns[:1], "sparse", facts)
        if facts.supervised and isinstance(made, Call):
            level = () if layout == "tree" else (("level", SQUASHED),)
            made = pipeline(*made.arguments["steps"], score_step(facts), *level)
        return each_column("regression", made, columns)

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        return (False,) * (facts.outputs * len(columns))
