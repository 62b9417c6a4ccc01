"""The row-wise functions of Spark SQL that the oracle knows, by subject; importing them fills the table."""

from palmette.features.oracle.functions import choices, numbers, strings, times
from palmette.features.oracle.functions.arrays import HIGHER_ORDER, subscript
from palmette.features.oracle.functions.times import WITH_UNIT

__all__ = ["HIGHER_ORDER", "WITH_UNIT", "choices", "numbers", "strings", "subscript", "times"]
