# ruff: noqa: ARG001 - compilers of one table all take the same arguments

"""Parses Spark SQL to a syntax tree, and compiles its leaves: constants and type names."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import EvaluationScope, TypedExpression, constant
from palmette.features.spec import type_rules as c
from palmette.features.spec.expression_types import literal_type
from palmette.features.spec.sql import ExpressionError
from palmette.features.spec.sql import parse as read
from palmette.features.spec.values import SparkType


def parse(sql: str) -> exp.Expr:
    """The syntax tree of an expression."""
    try:
        return read(sql).tree
    except ExpressionError as error:
        raise NotCovered(str(error)) from error


def columns_of(sql: str) -> frozenset[str]:
    """The lower-case names of the columns in an expression."""
    return frozenset(column.name.lower() for column in parse(sql).find_all(exp.Column))


def literal(node: Any, scope: EvaluationScope) -> TypedExpression:
    """A number or text."""
    kind = literal_type(node)
    read = {"string": str, "double": float, "decimal": Decimal}.get(kind.name, int)
    return constant(read(node.this), kind)


def interval(node: Any, scope: EvaluationScope) -> TypedExpression:
    """A number of months, or a duration."""
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
    """The type named in a cast."""
    text = node.sql(dialect="spark")
    try:
        return SparkType.parse(text)
    except ValueError as error:
        raise NotCovered(f"the type {text}") from error
