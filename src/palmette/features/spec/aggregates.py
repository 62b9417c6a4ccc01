"""The closed vocabulary of aggregations: which parameters each takes, of which types, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from palmette.features.spec.expressions import Fault
from palmette.features.spec.fsc import Aggregate
from palmette.features.spec.type_rules import average_type
from palmette.features.spec.values import SparkType

ORDERED = ("first", "last", "last_k", "collect")
"""Functions that go by the order of the rows."""

NEVER_NULL = ("count", "count_distinct", "approx_count_distinct", "exists")
"""Functions that give a value on no rows."""

SPREADABLE = ("count", "share", "sum", "exists")
"""Functions that may have `categories`."""

BIGINT, DOUBLE, BOOLEAN = map(SparkType, ("bigint", "double", "boolean"))


class _Rule(NamedTuple):
    """What a function takes and gives."""

    of: Literal["none", "optional", "any", "single", "numeric", "condition", "vector"]
    """What `of` must be; `single` is anything but an array or a map."""
    gives: Literal["bigint", "double", "boolean", "of", "sum", "avg", "array", "vector"]
    parameters: tuple[str, ...] = ()
    """The further parameters that it takes."""


_RULES: dict[str, _Rule] = {
    "count": _Rule("optional", "bigint"),
    "count_distinct": _Rule("single", "bigint"),
    "approx_count_distinct": _Rule("single", "bigint"),
    "sum": _Rule("numeric", "sum"),
    "avg": _Rule("numeric", "avg"),
    "min": _Rule("single", "of"),
    "max": _Rule("single", "of"),
    "stddev": _Rule("numeric", "double"),
    "percentile": _Rule("numeric", "double", ("p", "approximate")),
    "share": _Rule("condition", "double"),
    "exists": _Rule("none", "boolean"),
    "first": _Rule("any", "of", ("order",)),
    "last": _Rule("any", "of", ("order",)),
    "last_k": _Rule("single", "array", ("order", "k", "distinct")),
    "top_k": _Rule("single", "array", ("k",)),
    "mode": _Rule("single", "of"),
    "collect": _Rule("single", "array", ("order", "distinct")),
    "days_since_last": _Rule("none", "double"),
    "vector_mean": _Rule("vector", "vector"),
    "vector_sum": _Rule("vector", "vector"),
    "vector_weighted_mean": _Rule("vector", "vector", ("weight", "half_life")),
}
_NEEDED = {"percentile": "p", "last_k": "k", "top_k": "k"}


class AggregateFault(NamedTuple):
    """A mistake in one field of an aggregate."""

    part: str
    fault: Fault


def parameter_faults(aggregate: Aggregate) -> Iterator[AggregateFault]:
    """Parameters that the function does not take, and those that it lacks."""
    yield from _faults_of_column(aggregate)
    yield from _superfluous(aggregate)
    yield from _lacking(aggregate)


def _faults_of_column(aggregate: Aggregate) -> Iterator[AggregateFault]:
    """`of` where there is none to take, and none where one is needed."""
    function, rule = aggregate.function, _RULES[aggregate.function]
    takes_of = rule.of != "none"
    is_spread_share = function == "share" and aggregate.categories is not None
    if aggregate.of is not None and (not takes_of or is_spread_share):
        yield _fault(
            "of",
            "superfluous-parameter",
            f"{function!r} takes no `of`{' beside `categories`' * is_spread_share}.",
            "Leave it out, or put the condition into `where`.",
            aggregate.of,
        )
    if aggregate.of is None and takes_of and rule.of != "optional" and not is_spread_share:
        yield _fault(
            "function",
            "missing-parameter",
            f"{function!r} needs `of`.",
            "Add the column or expression.",
            function,
        )


def _superfluous(aggregate: Aggregate) -> Iterator[AggregateFault]:
    function = aggregate.function
    given = {
        "order": aggregate.order,
        "k": aggregate.k,
        "p": aggregate.p,
        "approximate": aggregate.approximate or None,
        "distinct": aggregate.distinct or None,
        "weight": aggregate.weight,
        "half_life": aggregate.half_life,
    }
    for name, value in given.items():
        if value is not None and name not in _RULES[function].parameters:
            users = [other for other, its in _RULES.items() if name in its.parameters]
            yield _fault(
                name,
                "superfluous-parameter",
                f"{function!r} takes no `{name}`; it belongs to {', '.join(users)}.",
                "Leave it out, or choose another function.",
                value,
            )
    if aggregate.categories is not None and function not in SPREADABLE:
        yield _fault(
            "categories",
            "superfluous-parameter",
            f"{function!r} cannot be spread over categories; {', '.join(SPREADABLE)} can.",
            "Leave them out.",
            function,
        )


def _lacking(aggregate: Aggregate) -> Iterator[AggregateFault]:
    function = aggregate.function
    needed = _NEEDED.get(function)
    if needed and getattr(aggregate, needed) is None:
        yield _fault("function", "missing-parameter", f"{function!r} needs `{needed}`.", "Add it.", function)
    if function == "vector_weighted_mean" and (aggregate.weight is None) == (aggregate.half_life is None):
        yield _fault(
            "function",
            "weight-or-half-life",
            "'vector_weighted_mean' needs either `weight` or `half_life`.",
            "Give exactly one.",
            function,
        )


def type_fault(aggregate: Aggregate, kind: SparkType) -> AggregateFault | None:
    """What is wrong with the type of `of`, if anything."""
    wanted = _RULES[aggregate.function].of
    words = {
        "numeric": (kind.is_numeric, "a number"),
        "condition": (kind == BOOLEAN, "a condition"),
        "vector": (kind.is_vector, "an array of numbers"),
        "single": (not kind.element, "a single value"),
    }
    fits, expected = words.get(wanted, (True, ""))
    if fits or kind.name == "null":
        return None
    return _fault(
        "of",
        "illegal-type",
        f"{aggregate.function!r} of {aggregate.of!r}, which is {kind}, not {expected}.",
        _remedy(aggregate.function, kind),
        aggregate.of,
    )


def result_type(aggregate: Aggregate, of: SparkType | None) -> SparkType | None:
    """What the function gives for an `of` of this type; None when it cannot be told."""
    gives = _RULES[aggregate.function].gives
    match gives:
        case "bigint" | "double" | "boolean":
            is_value = aggregate.function == "percentile" and aggregate.approximate
            return of if is_value else SparkType(gives)
        case "vector":
            return SparkType("array", element=DOUBLE)
    if of is None:
        return None
    match gives:
        case "sum":
            if of.name == "decimal":
                return SparkType("decimal", min(38, of.precision + 10), of.scale)
            return BIGINT if of.is_integer else DOUBLE
        case "avg":
            return average_type(of)
        case "array":
            return SparkType("array", element=of)
    return of


def dtype_fault(dtype: SparkType, given: SparkType, *, may_round: bool = False) -> str | None:
    """Why a value of type `given` should not become a `dtype`; None when it may.

    Args:
        may_round: whether cutting off a fraction is part of the function's definition.
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


def _remedy(function: str, kind: SparkType) -> str:
    if kind == BOOLEAN and function in ("sum", "avg"):
        return "Use `share`, or `count` with `where`."
    if kind.element:
        return "Use a vector function, or an element of it." if function not in ("share",) else "Write a condition."
    return "Convert it first, or choose another function or column."


def _fault(part: str, code: str, message: str, remedy: str, value: object) -> AggregateFault:
    return AggregateFault(part, Fault(code, message, remedy, str(value)))
