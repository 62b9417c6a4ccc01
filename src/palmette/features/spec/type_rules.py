"""Spark's rules for combining types (comparison, common type, arithmetic, casts), and the types of aggregations."""

from typing import Literal, NamedTuple

from palmette.features.spec.fsc import Aggregate
from palmette.features.spec.values import SparkType
from palmette.problems import Reporter

BOOLEAN, INT, BIGINT, FLOAT, DOUBLE = map(SparkType, ("boolean", "int", "bigint", "float", "double"))
STRING, BINARY, DATE, TIMESTAMP = map(SparkType, ("string", "binary", "date", "timestamp"))
NTZ, NULL = map(SparkType, ("timestamp_ntz", "null"))
INTERVAL = SparkType("interval")  # type of day-time interval literals and of differences between times
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


ORDERED = ("first", "last", "last_k", "collect")  # functions whose result depends on the order of the rows

NEVER_NULL = ("count", "count_distinct", "approx_count_distinct", "exists")
"""Functions that return a value, not null, for zero rows."""

SPREADABLE = ("count", "share", "sum", "exists")  # functions that accept `categories`


class _Rule(NamedTuple):
    """The signature of a function."""

    of: Literal["none", "optional", "any", "single", "numeric", "condition", "vector"]
    """Type of `of`. `single` is any type except arrays and maps."""
    gives: Literal["bigint", "double", "boolean", "of", "sum", "avg", "array", "vector"]
    parameters: tuple[str, ...] = ()  # names of the other parameters it accepts
    needs: str = ""  # the required one among `parameters`


_RULES: dict[str, _Rule] = {
    "count": _Rule("optional", "bigint"),
    "count_distinct": _Rule("single", "bigint"),
    "approx_count_distinct": _Rule("single", "bigint"),
    "sum": _Rule("numeric", "sum"),
    "avg": _Rule("numeric", "avg"),
    "min": _Rule("single", "of"),
    "max": _Rule("single", "of"),
    "stddev": _Rule("numeric", "double"),
    "percentile": _Rule("numeric", "double", ("p", "approximate"), "p"),
    "share": _Rule("condition", "double"),
    "exists": _Rule("none", "boolean"),
    "first": _Rule("any", "of", ("order",)),
    "last": _Rule("any", "of", ("order",)),
    "last_k": _Rule("single", "array", ("order", "k", "distinct"), "k"),
    "top_k": _Rule("single", "array", ("k", "rank_by"), "k"),
    "mode": _Rule("single", "of", ("rank_by",)),
    "collect": _Rule("single", "array", ("order", "distinct")),
    "days_since_last": _Rule("none", "double"),
    "vector_mean": _Rule("vector", "vector"),
    "vector_sum": _Rule("vector", "vector"),
    "vector_weighted_mean": _Rule("vector", "vector", ("weight", "half_life")),
}


def lint_aggregate(aggregate: Aggregate, path: str, report: Reporter) -> None:
    """Reports unsupported and missing parameters."""
    function, rule = aggregate.function, _RULES[aggregate.function]
    is_spread_share = function == "share" and aggregate.categories is not None
    if aggregate.of is not None and (rule.of == "none" or is_spread_share):
        beside = " beside `categories`" * is_spread_share
        report("superfluous-parameter/of", f"{path}.of", aggregate.of, function=function, beside=beside)
    if aggregate.of is None and rule.of not in ("none", "optional") and not is_spread_share:
        report("missing-parameter/of", f"{path}.function", function)
    for name in dict.fromkeys(name for other in _RULES.values() for name in other.parameters):
        value = getattr(aggregate, name)
        if value not in (None, False) and name not in rule.parameters:
            users = [other for other, its in _RULES.items() if name in its.parameters]
            report("superfluous-parameter", f"{path}.{name}", value, function=function, name=name, others=users)
    if aggregate.categories is not None and function not in SPREADABLE:
        report("superfluous-parameter/categories", f"{path}.categories", function, others=SPREADABLE)
    if rule.needs and getattr(aggregate, rule.needs) is None:
        report("missing-parameter", f"{path}.function", function, needed=rule.needs)
    if function == "vector_weighted_mean" and (aggregate.weight is None) == (aggregate.half_life is None):
        report("weight-or-half-life", f"{path}.function", function)


def has_type(aggregate: Aggregate, kind: SparkType, path: str, report: Reporter) -> bool:
    """Whether the function accepts an `of` of this type; reports it if not."""
    function, wanted = aggregate.function, _RULES[aggregate.function].of
    fits, expected = {
        "numeric": (kind.is_numeric, "a number"),
        "condition": (kind == BOOLEAN, "a condition"),
        "vector": (kind.is_vector, "an array of numbers"),
        "single": (not kind.element, "a single value"),
    }.get(wanted, (True, ""))
    if fits or kind.name == "null":
        return True
    remedy = "Convert it first, or choose another function or column."
    if kind == BOOLEAN and function in ("sum", "avg"):
        remedy = "Use `share`, or `count` with `where`."
    elif kind.element:
        remedy = "Write a condition." if function == "share" else "Use a vector function, or an element of it."
    facts = {"function": function, "kind": kind, "expected": expected, "remedy": remedy}
    report("illegal-type/of", f"{path}.of", aggregate.of, **facts)
    return False


def result_type(aggregate: Aggregate, of: SparkType | None) -> SparkType | None:
    """The function's result type for an `of` of this type; None if unknown."""
    match _RULES[aggregate.function].gives:
        case "bigint" | "double" | "boolean" as name:
            is_value = aggregate.function == "percentile" and aggregate.approximate
            return of if is_value else SparkType(name)
        case "vector":
            return SparkType("array", element=DOUBLE)
        case "sum" if of is not None:
            return sum_type(of)
        case "avg" if of is not None:
            return average_type(of)
        case "array" if of is not None:
            return SparkType("array", element=of)
    return of


def dtype_fault(dtype: SparkType, given: SparkType, *, may_round: bool = False) -> str | None:
    """Why a feature of type `dtype` cannot hold a computed value of type `given`; None if it can.

    Args:
        may_round: whether the function is defined to drop the fraction.
    """
    if dtype == given or given.name == "null":
        return None
    if dtype.element and given.element and dtype.name == given.name:
        return dtype_fault(dtype.element, given.element)
    if dtype.is_integer and given.is_numeric and not given.is_integer:
        is_whole = given.name == "decimal" and given.scale == 0
        return None if may_round or is_whole else f"it is {given}, and {dtype} would cut off the fraction"
    if dtype.is_numeric and (given.is_numeric or (given == BOOLEAN and dtype.is_integer)):
        return None
    if dtype.name in ("timestamp", "timestamp_ntz") and given.is_temporal:
        return None
    return f"it is {given}, not {dtype}"
