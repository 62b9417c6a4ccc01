"""Encoders of numbers, booleans, timestamps and categories."""

from collections.abc import Sequence

from palmette.automl.calls import Call, Name, function_step, pipeline
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout, Transformer
from palmette.automl.encoders.shared import SQUASHED, imputer, scaled, score_step, standard

QUANTILES = 200
TEXTS = "palmette.automl.encoders.text.text_features"


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
        return pipeline(("impute", imputer(facts)), ("squash", SQUASHED), *standard(facts))


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


USUAL = ("month", "weekday", "days")


class Parts(Encoder):
    name = "datetime_parts"
    kind = "datetime"
    cell = 1e-6
    description = "Month, day, weekday and hour where they recur, and days since 1970 where they help."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        parts = {one.name: list(one.parts or USUAL) for one in columns}
        made = function_step("palmette.automl.encoders.derived.datetime_parts", parts=parts)
        return scaled(layout, facts, ("parts", made))

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        return (False,) * sum(len(one.parts or USUAL) for one in columns)


MANY = 30  # most categories of a column that have an indicator of their own in clustering


class Codes(Encoder):
    name = "category_codes"
    kind = "category"
    layouts = frozenset({"tree"})
    description = "A code for each category, declared as categorical to trees that can use it; rare ones share one."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": Name("numpy.nan")}
        codes = Call("sklearn.preprocessing.OrdinalEncoder", {"min_frequency": 2, **unknown})
        if "text" not in facts.kinds:
            return codes
        every, many = [one.name for one in columns], [one.name for one in columns if not one.categories]
        joined, words = Call(f"{TEXTS}.JoinedTexts"), Call(f"{TEXTS}.Words", {"grams": 2})
        scores = pipeline(("joined", joined), ("words", words), score_step(facts, alpha=1.0))
        parts = [
            ("codes", codes, [name for name in every if name not in many]),  # a cell of many often lists several
            ("scores", scores, every),
            ("numbers", function_step("palmette.automl.encoders.derived.first_numbers"), many),
        ]
        return Call("sklearn.compose.ColumnTransformer", {"transformers": [part for part in parts if part[2]]})

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        if "text" not in facts.kinds:
            return (True,) * len(columns)
        few = sum(bool(one.categories) for one in columns)
        return (*(True,) * few, *(False,) * (facts.outputs + len(columns) - few))


class OneHot(Encoder):
    name = "category_onehot"
    kind = "category"
    cell = 1e-6
    layouts = frozenset({"dense", "sparse"})
    description = "A column for each of few categories; of many, the mean target of each, cross-fitted."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        if not facts.supervised:
            # Categories are half as far apart as two rows are in a number. With more weight, each would be a cluster.
            most = {"max_categories": MANY, "handle_unknown": "ignore", "sparse_output": False}
            half = Call("sklearn.preprocessing.MinMaxScaler", {"feature_range": (0, 0.5)})
            return pipeline(("indicators", Call("sklearn.preprocessing.OneHotEncoder", most)), ("scale", half))
        few = [one.name for one in columns if one.categories]
        many = [one.name for one in columns if not one.categories]
        # Categories that occur once, and unknown ones, share an indicator.
        rare = {"min_frequency": 2, "handle_unknown": "infrequent_if_exist"}
        dense = {} if layout == "sparse" else {"sparse_output": False}
        indicators = Call("sklearn.preprocessing.OneHotEncoder", {**rare, **dense})
        # The mean target of a category leaves out the own fold of a training row.
        target = "continuous" if not facts.classes else "binary" if facts.classes == 2 else "multiclass"
        folds = Call("sklearn.model_selection.KFold", {"n_splits": 5, "shuffle": True, "random_state": 0})
        encoder = Call("sklearn.preprocessing.TargetEncoder", {"target_type": target, "cv": folds})
        means = pipeline(("means", encoder), *standard(facts))
        parts = [("few", indicators, few), ("many", means, many)]
        taken = [part for part in parts if part[2]]
        return taken[0][1] if len(taken) == 1 else Call("sklearn.compose.ColumnTransformer", {"transformers": taken})
