"""Spark's rules for combining types: comparison, common type, arithmetic, casts."""

from typing import Literal

from palmette.features.spec.values import SparkType

BOOLEAN, INT, BIGINT, FLOAT, DOUBLE = map(SparkType, ("boolean", "int", "bigint", "float", "double"))
STRING, BINARY, DATE, TIMESTAMP = map(SparkType, ("string", "binary", "date", "timestamp"))
NTZ, NULL = map(SparkType, ("timestamp_ntz", "null"))
INTERVAL = SparkType("interval")
"""Type of day-time interval literals and of differences between times."""
MONTHS = SparkType("months")
"""Type of year-month interval literals. Columns cannot have an interval type."""

Operator = Literal["+", "-", "*", "/", "%", "div"]

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
INTEGERS = tuple(BITS)
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def array_of(element: SparkType) -> SparkType:
    return SparkType("array", element=element)


def average_type(kind: SparkType) -> SparkType:
    """The type of Spark's `avg`."""
    return bounded(kind.precision + 4, kind.scale + 4) if kind.name == "decimal" else DOUBLE


def comparable(left: SparkType | None, right: SparkType | None) -> bool:
    """Whether values of the two types can be compared without casting text."""
    if left is None or right is None or NULL in (left, right):
        return True
    if left.element and right.element:
        return left.name == right.name and comparable(left.element, right.element)
    return left == right or (left.is_numeric and right.is_numeric) or (left.is_temporal and right.is_temporal)


def common_type(left: SparkType, right: SparkType) -> SparkType | None:
    """The common type of two values in one column; None if there is none."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if left.is_numeric and right.is_numeric:
        return wider(left, right)
    if left.is_temporal and right.is_temporal:
        return TIMESTAMP if TIMESTAMP in (left, right) else NTZ
    if left.element and right.element and left.name == right.name:
        element = common_type(left.element, right.element)
        return SparkType(left.name, element=element) if element else None
    return None


def wider(left: SparkType, right: SparkType) -> SparkType:
    """The wider of two numeric types."""
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda kind: INTEGERS.index(kind.name))
    if DOUBLE in (left, right) or FLOAT in (left, right):
        return FLOAT if left == right == FLOAT else DOUBLE
    one, other = as_decimal(left), as_decimal(right)
    scale, whole = max(one.scale, other.scale), max(one.precision - one.scale, other.precision - other.scale)
    return SparkType("decimal", min(whole + scale, 38), min(scale, 38 - min(whole, 38)))


def arithmetic_type(operator: Operator, left: SparkType, right: SparkType) -> SparkType:
    """The type of an arithmetic operation on two numbers."""
    if operator == "div":
        return BIGINT
    is_integral = left.is_integer and right.is_integer
    if is_integral or DOUBLE in (left, right) or FLOAT in (left, right):
        return DOUBLE if operator == "/" else wider(left, right)
    one, other = as_decimal(left), as_decimal(right)
    (p1, s1), (p2, s2) = (one.precision, one.scale), (other.precision, other.scale)
    if operator == "*":
        return bounded(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(6, s1 + p2 + 1)
        return bounded(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    if operator == "%":
        return bounded(min(p1 - s1, p2 - s2) + scale, scale)
    return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)


def sum_type(kind: SparkType) -> SparkType | None:
    """The type of Spark's `sum`; None if the type is not numeric."""
    if kind.name == "decimal":
        return SparkType("decimal", min(38, kind.precision + 10), kind.scale)
    return BIGINT if kind.is_integer else DOUBLE if kind.is_numeric else None


def rounded_type(kind: SparkType, digits: int = 0) -> SparkType:
    """The type of Spark's `round`, and of `floor` and `ceil` of a decimal."""
    if kind.name != "decimal":
        return kind
    whole, scale = kind.precision - kind.scale + 1, max(min(kind.scale, digits), 0)
    return SparkType("decimal", min(max(whole + scale, 1 - digits), 38), scale)


def bounded(precision: int, scale: int) -> SparkType:
    """Limits a decimal to 38 digits by Spark's rule: reduces the scale, but not below 6 digits."""
    if precision <= 38:
        return SparkType("decimal", precision, scale)
    return SparkType("decimal", 38, max(38 - (precision - scale), min(scale, 6)))


def as_decimal(kind: SparkType) -> SparkType:
    """The decimal type that holds every value of an integer type."""
    return SparkType("decimal", _DIGITS[kind.name], 0) if kind.is_integer else kind


def castable(source: SparkType, target: SparkType) -> bool:
    """Whether Spark can cast one type to the other."""
    if source == target or {source, target} & {NULL, INTERVAL, STRING}:
        return True
    if source.element and target.element:
        return source.name == target.name and castable(source.element, target.element)
    if source.fields and len(source.fields) == len(target.fields):
        return all(castable(one, other) for (_, one), (_, other) in zip(source.fields, target.fields, strict=True))
    if source.is_temporal and target.is_temporal:
        return True
    if target == BINARY:
        return source.is_integer
    return all(kind.is_numeric or kind in (BOOLEAN, TIMESTAMP) for kind in (source, target))
