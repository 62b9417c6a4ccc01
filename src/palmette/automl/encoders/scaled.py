"""The last steps of several encoders: from numbers to features of a layout."""

from __future__ import annotations

from palmette.automl.calls import Call, Name, pipeline
from palmette.automl.encoders.encoder import DataFacts, Layout, Transformer

SQUASHED = Call("palmette.automl.encoders.scaling.SquashingScaler")
STANDARD = Call("sklearn.preprocessing.StandardScaler")
FAR, FAR_APART = 4.0, 3.0
"""Standard deviations at which numbers are clipped; tighter for clustering, so that outliers form no clusters."""


def scaled(layout: Layout, facts: DataFacts, *first: tuple[str, Call]) -> Transformer:
    """Turns numbers with missing values, after the `first` steps, into features of a layout."""
    if layout == "tree":
        return pipeline(*first) if len(first) > 1 else first[0][1] if first else "passthrough"
    squash = layout == "dense" and facts.supervised
    steps = (("scale", SQUASHED),) if squash else standard(facts)
    return pipeline(*first, ("impute", imputer(facts)), *steps)


def imputer(facts: DataFacts) -> Call:
    """Replaces missing numbers by the median; with a target to learn, also adds columns that flag them."""
    flags = {"add_indicator": True} if facts.supervised else {}
    return Call("sklearn.impute.SimpleImputer", {"strategy": "median", **flags, "keep_empty_features": True})


def standard(facts: DataFacts) -> tuple[tuple[str, Call], ...]:
    """Scales to mean 0 and standard deviation 1, and clips outliers."""
    return (("scale", STANDARD), ("clip", clipped(FAR if facts.supervised else FAR_APART)))


def clipped(far: float) -> Call:
    function = {"func": Name("numpy.clip"), "kw_args": {"a_min": -far, "a_max": far}}
    return Call("sklearn.preprocessing.FunctionTransformer", {**function, "feature_names_out": "one-to-one"})
