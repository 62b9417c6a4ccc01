# ruff: noqa: ARG001, RUF012 - compilers of one table all take the same arguments

"""Spark SQL text as a syntax tree, and the leaves of that tree: constants and names of types.

sqlglot parses with every function left as written, so that the tables of `functions` are the one list of names.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from palmette.features.oracle import coercion as c
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import Scope, Typed, constant
from palmette.features.spec.values import SparkType

_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION")


class _AsWritten(Spark):
    """Spark SQL without sqlglot's own reading of functions."""

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]  # sqlglot makes the base at run time
        FUNCTIONS: dict[str, Any] = {}
        FUNCTION_PARSERS = {name: parse for name, parse in Spark.Parser.FUNCTION_PARSERS.items() if name in _SYNTAX}
        NO_PAREN_FUNCTIONS: dict[Any, Any] = {}
        NO_PAREN_FUNCTION_PARSERS = {
            name: parse for name, parse in Spark.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("CASE", "IF")
        }


@lru_cache(maxsize=4096)
def parse(sql: str) -> exp.Expr:
    """The syntax tree of an expression."""
    try:
        return parse_one(sql, dialect=_AsWritten)
    except SqlglotError as error:
        raise NotCovered(f"{sql!r}: {error}") from error


def columns_of(sql: str) -> frozenset[str]:
    """The columns that an expression names, in lower case."""
    return frozenset(column.name.lower() for column in parse(sql).find_all(exp.Column))


def literal(node: Any, scope: Scope) -> Typed:
    """A number or text; whole numbers are int, or bigint or decimal where they must."""
    text = node.this
    if node.is_string:
        return constant(text, c.STRING)
    if re.fullmatch(r"\d+", text):
        number = int(text)
        if number >= 1 << 63:
            return constant(Decimal(text), SparkType("decimal", len(text), 0))
        return constant(number, c.INT if number < 1 << 31 else c.BIGINT)
    if "e" in text.lower():
        return constant(float(text), c.DOUBLE)
    value = Decimal(text)
    scale = -int(value.as_tuple().exponent)
    return constant(value, SparkType("decimal", max(len(value.as_tuple().digits), scale), scale))


def interval(node: Any, scope: Scope) -> Typed:
    """Months, or a length of time."""
    unit = (node.args.get("unit") or exp.Var(this="")).name.lower().rstrip("s")
    amount = node.this.name if isinstance(node.this, exp.Literal) else ""
    if not re.fullmatch(r"-?\d+", amount.strip()):
        raise NotCovered(f"{node.sql(dialect='spark')}")
    number = int(amount)
    if unit in ("year", "month"):
        return constant(number * (12 if unit == "year" else 1), c.MONTHS)
    if unit not in ("week", "day", "hour", "minute", "second", "millisecond", "microsecond"):
        raise NotCovered(f"{node.sql(dialect='spark')}")
    return constant(timedelta(**{unit + "s": number}), c.INTERVAL)


def spark_type_of(node: exp.Expr) -> SparkType:
    """The type that a cast names."""
    text = node.sql(dialect="spark")
    try:
        return SparkType.parse(text)
    except ValueError as error:
        raise NotCovered(f"the type {text}") from error
