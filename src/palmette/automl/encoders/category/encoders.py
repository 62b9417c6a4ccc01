"""Encoders of categories."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.automl.calls import Call, Name, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout, Transformer
from palmette.automl.encoders.scaled import standard

MANY = 30
"""Most categories of a column that have an indicator of their own in clustering."""


class Codes(Encoder):
    name = "category_codes"
    kind = "category"
    layouts = frozenset({"tree"})
    description = "A code for each category, declared as categorical to trees that can use it; rare ones share one."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": Name("numpy.nan")}
        return Call("sklearn.preprocessing.OrdinalEncoder", {"min_frequency": 2, **unknown})

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        return (True,) * len(columns)


class OneHot(Encoder):
    name = "category_onehot"
    kind = "category"
    cell = 1e-6
    layouts = frozenset({"dense", "sparse"})
    description = "A column for each of few categories; of many, the mean target of each, cross-fitted."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        if not facts.supervised:
            return _distances()
        few = [one.name for one in columns if one.categories]
        many = [one.name for one in columns if not one.categories]
        parts = [("few", _indicators(layout), few), ("many", _means(facts), many)]
        taken = [part for part in parts if part[2]]
        return taken[0][1] if len(taken) == 1 else Call("sklearn.compose.ColumnTransformer", {"transformers": taken})


def _indicators(layout: Layout) -> Call:
    """Encodes categories as indicators; those that occur once, and unknown ones, share a column."""
    rare = {"min_frequency": 2, "handle_unknown": "infrequent_if_exist"}
    return Call(
        "sklearn.preprocessing.OneHotEncoder", {**rare, **({} if layout == "sparse" else {"sparse_output": False})}
    )


def _means(facts: DataFacts) -> Call:
    """Encodes a category as its mean target; the mean for a training row leaves out the row's own fold."""
    target = "continuous" if not facts.classes else "binary" if facts.classes == 2 else "multiclass"
    folds = Call("sklearn.model_selection.KFold", {"n_splits": 5, "shuffle": True, "random_state": 0})
    encoder = Call("sklearn.preprocessing.TargetEncoder", {"target_type": target, "cv": folds})
    return pipeline(("means", encoder), *standard(facts))


def _distances() -> Call:
    """Encodes categories for clustering, with half the usual distance between two rows in a number.

    With more weight, each category would be a cluster of its own, because all its rows coincide.
    """
    most = {"max_categories": MANY, "handle_unknown": "ignore", "sparse_output": False}
    half = Call("sklearn.preprocessing.MinMaxScaler", {"feature_range": (0, 0.5)})
    return pipeline(("indicators", Call("sklearn.preprocessing.OneHotEncoder", most)), ("scale", half))
