"""Feature specifications, registries and run files, and the resolved view that everything downstream reads."""

from palmette.features.spec.dfr import RegisteredColumn, Registry, Table
from palmette.features.spec.fsc import Aggregate, Expression, Feature, FeatureSpec, Lookup, UnitTest
from palmette.features.spec.run import Run
from palmette.features.spec.values import Duration, SparkType, TypeName, Window
from palmette.features.spec.view import AS_OF, Schema, View, ViewFeature, ViewSource

__all__ = [
    "AS_OF", "Aggregate", "Duration", "Expression", "Feature", "FeatureSpec", "Lookup", "RegisteredColumn", "Registry",
    "Run", "Schema", "SparkType", "Table", "TypeName", "UnitTest", "View", "ViewFeature", "ViewSource", "Window",
]  # fmt: skip
