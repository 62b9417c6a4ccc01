# ruff: noqa: ARG001, ARG005 - entries of one table all take the same arguments

"""Functions that choose among their arguments, and casts written as functions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from palmette.features.oracle import coercion as c
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.typed import FUNCTIONS, Scope, Typed, builder, order_key, same, to, unify
from palmette.features.spec.values import ATOMIC_TYPES, SparkType


@builder("coalesce", "nvl", "ifnull")
def coalesce(arguments: list[Typed], scope: Scope) -> Typed:
    kind, items = unify(arguments, scope.zone)

    def run(row: Any) -> Any:
        return next((value for value in (item.run(row) for item in items) if value is not None), None)

    return Typed(kind, run)


@builder("nvl2")
def nvl2(arguments: list[Typed], scope: Scope) -> Typed:
    kind, (there, absent) = unify(arguments[1:], scope.zone)
    test = arguments[0].run
    return Typed(kind, lambda row: absent.run(row) if test(row) is None else there.run(row))


@builder("nullif")
def nullif(arguments: list[Typed], scope: Scope) -> Typed:
    _, (one, other) = unify(arguments, scope.zone)
    first = arguments[0]

    def run(row: Any) -> Any:
        a, b = one.run(row), other.run(row)
        return None if a is None or (b is not None and same(a, b)) else first.run(row)

    return Typed(first.kind, run)


@builder("if", "iff")
def choose(arguments: list[Typed], scope: Scope) -> Typed:
    kind, (yes, no) = unify(arguments[1:], scope.zone)
    test = to(arguments[0], c.BOOLEAN, scope.zone).run
    return Typed(kind, lambda row: yes.run(row) if test(row) is True else no.run(row))


@builder("nullifzero")
def nullifzero(arguments: list[Typed], scope: Scope) -> Typed:
    item = arguments[0]
    return Typed(item.kind, lambda row: value if (value := item.run(row)) is None or value != 0 else None)


@builder("zeroifnull")
def zeroifnull(arguments: list[Typed], scope: Scope) -> Typed:
    return coalesce([*arguments, Typed(c.INT, lambda row: 0, literal=True)], scope)


@builder("isnull")
def isnull(arguments: list[Typed], scope: Scope) -> Typed:
    return Typed(c.BOOLEAN, lambda row: arguments[0].run(row) is None)


@builder("isnotnull")
def isnotnull(arguments: list[Typed], scope: Scope) -> Typed:
    return Typed(c.BOOLEAN, lambda row: arguments[0].run(row) is not None)


@builder("isnan")
def isnan(arguments: list[Typed], scope: Scope) -> Typed:
    item = to(arguments[0], c.DOUBLE, scope.zone)
    return Typed(c.BOOLEAN, lambda row: (value := item.run(row)) is not None and math.isnan(value))


@builder("nanvl")
def nanvl(arguments: list[Typed], scope: Scope) -> Typed:
    kind, (one, other) = unify(arguments, scope.zone)

    def run(row: Any) -> Any:
        value = one.run(row)
        return other.run(row) if value is not None and math.isnan(value) else value

    return Typed(kind, run)


@builder("equal_null")
def equal_null(arguments: list[Typed], scope: Scope) -> Typed:
    _, (one, other) = unify(arguments, scope.zone)

    def run(row: Any) -> bool:
        a, b = one.run(row), other.run(row)
        return (a is None and b is None) if a is None or b is None else same(a, b)

    return Typed(c.BOOLEAN, run)


def _extreme(pick: Any, arguments: list[Typed], scope: Scope) -> Typed:
    """Ignores nulls; null when all are."""
    kind, items = unify(arguments, scope.zone)

    def run(row: Any) -> Any:
        values = [value for value in (item.run(row) for item in items) if value is not None]
        return pick(values, key=order_key) if values else None

    return Typed(kind, run)


FUNCTIONS["greatest"] = partial(_extreme, max)
FUNCTIONS["least"] = partial(_extreme, min)


@builder("decode")
def decode(arguments: list[Typed], scope: Scope) -> Typed:
    if len(arguments) < 3:
        raise NotCovered("decode of a character set")
    pairs = [(arguments[i], arguments[i + 1]) for i in range(1, len(arguments) - 1, 2)]
    default = [arguments[-1]] if len(arguments) % 2 == 0 else [Typed(c.NULL, lambda row: None)]
    tests = [equal_null([arguments[0], key], scope).run for key, _ in pairs]
    kind, items = unify([*(value for _, value in pairs), *default], scope.zone)

    def run(row: Any) -> Any:
        hit = next((i for i, test in enumerate(tests) if test(row)), len(tests))
        return items[hit].run(row)

    return Typed(kind, run)


def _cast_to(target: SparkType, arguments: list[Typed], scope: Scope) -> Typed:
    return to(arguments[0], target, scope.zone)


for _name in ATOMIC_TYPES:
    if _name != "timestamp_ntz":  # the one type without a function of its name
        FUNCTIONS[_name] = partial(_cast_to, SparkType(_name))
FUNCTIONS["decimal"] = partial(_cast_to, SparkType("decimal", 10, 0))
