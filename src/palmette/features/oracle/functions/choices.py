"""Functions that choose among their arguments, and casts in function form."""

import math

from palmette.features.oracle import typed
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.registry import ANY, FUNCTIONS, builder, function
from palmette.features.oracle.typed import EvaluationScope, TypedExpression
from palmette.features.spec import type_rules as c
from palmette.features.spec.values import ATOMIC_TYPES, SparkType


@builder("coalesce", "nvl", "ifnull")
def coalesce(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, items = typed.unify(arguments, scope.zone)
    return TypedExpression(
        kind, lambda row: next((value for item in items if (value := item.run(row)) is not None), None)
    )


@builder("nvl2")
def nvl2(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    kind, (there, absent) = typed.unify(arguments[1:], scope.zone)
    test = arguments[0].run
    return TypedExpression(kind, lambda row: absent.run(row) if test(row) is None else there.run(row))


@builder("nullif")
def nullif(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    _, (one, other) = typed.unify(arguments, scope.zone)
    first = arguments[0]
    return TypedExpression(first.kind, lambda row: None if typed.same(one.run(row), other.run(row)) else first.run(row))


function("nullifzero", (ANY,), ANY)(lambda value: value if value != 0 else None)
function("isnull", (ANY,), c.BOOLEAN, nulls=True)(lambda value: value is None)
function("isnotnull", (ANY,), c.BOOLEAN, nulls=True)(lambda value: value is not None)
function("isnan", (c.DOUBLE,), c.BOOLEAN, nulls=True)(lambda value: value is not None and math.isnan(value))
function("nanvl", (ANY, ANY), ANY, nulls=True)(
    lambda value, other: other if value is not None and math.isnan(value) else value
)
FUNCTIONS["zeroifnull"] = lambda arguments, scope: coalesce([*arguments, typed.constant(0, c.INT)], scope)
FUNCTIONS["equal_null"] = lambda arguments, scope: typed.null_safe_equal(arguments[0], arguments[1], scope.zone)


@builder("decode")
def decode(arguments: list[TypedExpression], scope: EvaluationScope) -> TypedExpression:
    if len(arguments) < 3:
        raise NotCovered("decode of a character set")
    pairs = [(arguments[i], arguments[i + 1]) for i in range(1, len(arguments) - 1, 2)]
    default = arguments[-1] if len(arguments) % 2 == 0 else typed.constant(None, c.NULL)
    tests = [typed.null_safe_equal(arguments[0], key, scope.zone).run for key, _ in pairs]
    return typed.choose(tests, [*(value for _, value in pairs), default], scope)


for _kind in (*map(SparkType, ATOMIC_TYPES), SparkType("decimal", 10, 0)):
    function(_kind.name, (_kind,), _kind)(lambda value: value)
