"""An independent oracle: computes the expected rows of a view by definition, in plain Python without Spark."""

from palmette.features.oracle.compare import ExpectedFrame, differences, skipped_text
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.reference import expected, uncovered

__all__ = ["ExpectedFrame", "NotCovered", "WouldFail", "differences", "expected", "skipped_text", "uncovered"]
