"""Facts about Spark's SQL functions (from spark_functions.yaml) and their result types."""

import functools
from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from palmette.documents import read_plain
from palmette.features.spec import type_rules as c
from palmette.features.spec.values import SparkType

_FACTS = Path(__file__).with_name("spark_functions.yaml")


@functools.cache
def names(kind: str) -> frozenset[str]:
    """The lower-case names in one list of spark_functions.yaml, which documents each list."""
    return frozenset(read_plain(_FACTS)[kind].split())


@functools.cache
def results() -> dict[str, SparkType]:
    """Result types of functions that always return the same type."""
    kinds = {name: kind for kind, listed in read_plain(_FACTS)["results"].items() for name in listed.split()}
    return {name: c.INTERVAL if kind == "interval" else SparkType.parse(kind) for name, kind in kinds.items()}


def result_of(name: str, kinds: Sequence[SparkType | None], arguments: Sequence[exp.Expression]) -> SparkType | None:
    """The result type of a call, given the types of its arguments; None if unknown."""
    first, second = (*kinds, None, None)[:2]
    if operator := read_plain(_FACTS)["operators"].get(name):
        both = first and second and first.is_numeric and second.is_numeric
        return c.arithmetic_type(operator, first, second) if both and first and second else None
    if name in names("quantiles"):
        value = c.DOUBLE if name == "percentile" else first
        return SparkType("array", element=value) if second and second.name == "array" else value
    if first is None:
        return c.STRING if name == "concat" else results().get(name)
    if name in names("array_of_first"):
        return c.array_of(first)
    return first.element if name in names("element_of_first") else _by_first(name, first, kinds, arguments)


def _by_first(
    name: str, first: SparkType, kinds: Sequence[SparkType | None], arguments: Sequence[exp.Expression]
) -> SparkType | None:
    """The result type of a function that depends on the type of its first argument."""
    match name:
        case "concat":
            return first if first.name == "array" else c.STRING
        case "array":
            return c.array_of(first) if len(set(kinds)) == 1 else None
        case "map_values":
            return SparkType("array", element=first.element)
        case "sum" | "try_sum":
            return c.sum_type(first)
        case "avg" | "mean" | "try_avg":
            return c.average_type(first)
        case "ceil" | "ceiling" | "floor" if len(arguments) == 1:
            return c.rounded_type(first) if first.name == "decimal" else c.BIGINT
        case "round" | "bround":
            digits = arguments[1].name if len(arguments) > 1 else ""
            return c.rounded_type(first, int(digits) if digits.isdigit() else 0)
    return results().get(name)
