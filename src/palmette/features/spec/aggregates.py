"""The closed set of aggregation functions: their parameters, operand types and result types."""

from typing import Literal, NamedTuple

from palmette.features.spec.fsc import Aggregate
from palmette.features.spec.type_rules import BOOLEAN, DOUBLE, average_type, sum_type
from palmette.features.spec.values import SparkType
from palmette.problems import Reporter

ORDERED = ("first", "last", "last_k", "collect")
"""Functions whose result depends on the order of the rows."""

NEVER_NULL = ("count", "count_distinct", "approx_count_distinct", "exists")
"""Functions that return a value, not null, for zero rows."""

SPREADABLE = ("count", "share", "sum", "exists")
"""Functions that accept `categories`."""


class _Rule(NamedTuple):
    """The signature of a function."""

    of: Literal["none", "optional", "any", "single", "numeric", "condition", "vector"]
    """Type of `of`. `single` is any type except arrays and maps."""
    gives: Literal["bigint", "double", "boolean", "of", "sum", "avg", "array", "vector"]
    parameters: tuple[str, ...] = ()
    """Names of the other parameters it accepts."""
    needs: str = ""
    """The required one among `parameters`."""


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
