"""The row-wise functions of Spark SQL that the oracle supports, by topic; importing the modules registers them."""

from palmette.features.oracle.functions import lambdas, numbers, strings  # noqa: F401 - to register them
from palmette.features.oracle.functions.arrays import subscript
from palmette.features.oracle.functions.definitions import expanded
from palmette.features.oracle.functions.nested import field_of
from palmette.features.oracle.functions.times import WITH_UNIT

__all__ = ["WITH_UNIT", "expanded", "field_of", "subscript"]
