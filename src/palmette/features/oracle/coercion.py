"""Which types Spark gives to operands and results in ANSI mode."""

from __future__ import annotations

from palmette.features.oracle.errors import NotCovered
from palmette.features.spec.values import SparkType

BOOLEAN, TINYINT, SMALLINT, INT, BIGINT = map(SparkType, ("boolean", "tinyint", "smallint", "int", "bigint"))
FLOAT, DOUBLE, STRING, BINARY = map(SparkType, ("float", "double", "string", "binary"))
DATE, TIMESTAMP, NTZ, NULL = map(SparkType, ("date", "timestamp", "timestamp_ntz", "null"))
INTERVAL = SparkType("interval")
"""Day-time interval, a `timedelta`. Not a column type."""
MONTHS = SparkType("months")
"""Year-month interval, an int. Not a column type."""

INTEGERS = ("tinyint", "smallint", "int", "bigint")
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_LADDER = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TIMES = ("date", "timestamp_ntz", "timestamp")
MAX_PRECISION = 38


def array_of(element: SparkType) -> SparkType:
    return SparkType("array", element=element)


def bounded(precision: int, scale: int) -> SparkType:
    """A decimal type cut to 38 digits, giving up digits behind the point first (but keeping six)."""
    if precision <= MAX_PRECISION:
        return SparkType("decimal", precision, scale)
    whole = precision - scale
    return SparkType("decimal", MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, 6)))


def as_decimal(kind: SparkType) -> SparkType:
    """The decimal type that holds every value of an integer type."""
    return kind if kind.name == "decimal" else SparkType("decimal", _DIGITS[kind.name], 0)


def arithmetic(operator: str, left: SparkType, right: SparkType) -> SparkType:
    """The type of `left operator right` for decimals; operators + - * / % div."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return bounded(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return bounded(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return bounded(min(p1 - s1, p2 - s2) + scale, scale)


def common(left: SparkType, right: SparkType) -> SparkType:
    """The type in which two values are compared, or that a choice between them has."""
    if left == right or right.name == "null":
        return left
    if left.name == "null":
        return right
    if left.is_numeric and right.is_numeric:
        return _numeric(left, right)
    if left.name in _TIMES and right.name in _TIMES:
        return SparkType(max(left.name, right.name, key=_TIMES.index))
    if "string" in (left.name, right.name):
        return _with_string(right if left.name == "string" else left)
    if left.name == right.name == "array" and left.element and right.element:
        return array_of(common(left.element, right.element))
    raise NotCovered(f"a common type of {left} and {right}")


def _numeric(left: SparkType, right: SparkType) -> SparkType:
    names = {left.name, right.name}
    if "decimal" in names:
        if names & {"float", "double"}:
            return DOUBLE
        one, other = as_decimal(left), as_decimal(right)
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return SparkType("decimal", min(whole + scale, MAX_PRECISION), min(scale, MAX_PRECISION - min(whole, 38)))
    wider = max(left.name, right.name, key=_LADDER.index)
    return DOUBLE if wider == "float" else SparkType(wider)


def _with_string(other: SparkType) -> SparkType:
    if other.is_integer:
        return BIGINT
    if other.is_numeric:
        return DOUBLE
    if other.name in ("boolean", "binary", *_TIMES):
        return other
    raise NotCovered(f"a common type of string and {other}")
