# ruff: noqa: ARG001, ARG005 - entries of one table all take the same arguments

"""Functions that choose among their arguments, and casts in function form."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import (
    FUNCTIONS,
    EvaluationScope,
    TypedExpression,
    builder,
    constant,
    lift,
    null_safe_equal,
    order_key,
    same,
    to,
    unify,
)
from palmette.features.spec import type_rules as c
from palmette.features.spec.values import ATOMIC_TYPES, SparkType


@builder("coalesce", "nvl", "ifnull")
def coalesce(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, items = unify(arguments, scope.zone)

    def run(row: Any) -> Any:
        return next((value for value in (item.run(row) for item in items) if value is not None), None)

    return TypedExpression(kind, run)


@builder("nvl2")
def nvl2(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, (there, absent) = unify(arguments[1:], scope.zone)
    test = arguments[0].run
    return TypedExpression(kind, lambda row: absent.run(row) if test(row) is None else there.run(row))


@builder("nullif")
def nullif(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    _, (one, other) = unify(arguments, scope.zone)
    first = arguments[0]

    def run(row: Any) -> Any:
        a, b = one.run(row), other.run(row)
        return None if a is None or (b is not None and same(a, b)) else first.run(row)

    return TypedExpression(first.kind, run)


@builder("if", "iff")
def choose(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, (yes, no) = unify(arguments[1:], scope.zone)
    test = to(arguments[0], c.BOOLEAN, scope.zone).run
    return TypedExpression(kind, lambda row: yes.run(row) if test(row) is True else no.run(row))


@builder("nullifzero")
def nullifzero(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return lift(arguments[0].kind, arguments[:1], lambda value: value if value != 0 else None)


@builder("isnull")
def isnull(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return TypedExpression(c.BOOLEAN, lambda row: arguments[0].run(row) is None)


FUNCTIONS["zeroifnull"] = lambda arguments, scope: coalesce([*arguments, constant(0, c.INT)], scope)
FUNCTIONS["isnotnull"] = lambda arguments, scope: lift(c.BOOLEAN, [isnull(arguments, scope)], lambda value: not value)


@builder("isnan")
def isnan(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    item = to(arguments[0], c.DOUBLE, scope.zone)
    return TypedExpression(c.BOOLEAN, lambda row: (value := item.run(row)) is not None and math.isnan(value))


@builder("nanvl")
def nanvl(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, (one, other) = unify(arguments, scope.zone)

    def run(row: Any) -> Any:
        value = one.run(row)
        return other.run(row) if value is not None and math.isnan(value) else value

    return TypedExpression(kind, run)


FUNCTIONS["equal_null"] = lambda arguments, scope: null_safe_equal(arguments[0], arguments[1], scope.zone)


def _extreme(pick: Any, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    """Ignores nulls; null if all arguments are null."""
    kind, items = unify(arguments, scope.zone)

    def run(row: Any) -> Any:
        values = [value for value in (item.run(row) for item in items) if value is not None]
        return pick(values, key=order_key) if values else None

    return TypedExpression(kind, run)


FUNCTIONS["greatest"] = partial(_extreme, max)
FUNCTIONS["least"] = partial(_extreme, min)


@builder("decode")
def decode(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if len(arguments) < 3:
        raise NotCovered("decode of a character set")
    pairs = [(arguments[i], arguments[i + 1]) for i in range(1, len(arguments) - 1, 2)]
    default = [arguments[-1]] if len(arguments) % 2 == 0 else [TypedExpression(c.NULL, lambda row: None)]
    tests = [null_safe_equal(arguments[0], key, scope.zone).run for key, _ in pairs]
    kind, items = unify([*(value for _, value in pairs), *default], scope.zone)

    def run(row: Any) -> Any:
        hit = next((i for i, test in enumerate(tests) if test(row)), len(tests))
        return items[hit].run(row)

    return TypedExpression(kind, run)


def _cast_to(target: SparkType, arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    return to(arguments[0], target, scope.zone)


for _kind in map(SparkType, ATOMIC_TYPES):
    FUNCTIONS.setdefault(_kind.name, partial(_cast_to, _kind))
FUNCTIONS["decimal"] = partial(_cast_to, SparkType("decimal", 10, 0))
