"""The independent oracle: what a view's rows must be, by definition, in plain Python without Spark."""

from palmette.features.oracle.compare import Difference, differences
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected

__all__ = ["Difference", "NotCovered", "WouldFail", "differences", "expected"]
