# ruff: noqa: ARG001, ARG005 - entries of one table all take the same arguments

"""Evaluates Spark SQL expressions over Python rows.

`compile_row` and `compile_group` compile text to a `TypedExpression`: its type, and a function of a row or a group.
Types follow Spark in ANSI mode, except that `/` and `%` give null for a zero divisor, as the FSC defines.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial, reduce
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from palmette.features.oracle import functions, groups, typed
from palmette.features.oracle.arithmetic import binary, negated
from palmette.features.oracle.casts import in_range
from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.patterns import like
from palmette.features.oracle.typed import BY_SYNTAX, FUNCTIONS, EvaluationScope, TypedExpression
from palmette.features.spec import type_rules as c
from palmette.features.spec.expression_types import literal_type
from palmette.features.spec.sql import OPERATORS, ExpressionError
from palmette.features.spec.sql import parse as read
from palmette.features.spec.type_rules import Operator
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


def compile_row(sql: str, schema: Mapping[str, SparkType], zone: ZoneInfo) -> TypedExpression:
    """Compiles a row-wise expression; its `run` takes a row."""
    return build(parse(sql), EvaluationScope(schema, zone))


def compile_group(sql: str, schema: Mapping[str, SparkType], zone: ZoneInfo) -> TypedExpression:
    """Compiles an aggregate expression; its `run` takes all rows of a group, possibly none."""
    return build(parse(sql), EvaluationScope(schema, zone, groups=True))


def build(node: exp.Expr, scope: EvaluationScope) -> TypedExpression:
    """Compiles a node by its class; raises `NotCovered` for unsupported classes."""
    compiler = _NODES.get(type(node))
    if compiler is None:
        raise NotCovered(f"{node.sql(dialect='spark')} ({type(node).__name__})")
    return compiler(node, scope)


def _each(nodes: Sequence[exp.Expr], scope: EvaluationScope) -> list[TypedExpression]:
    return [build(node, scope) for node in nodes]


def _column(node: Any, scope: EvaluationScope) -> TypedExpression:
    name = node.name
    if node.args.get("table"):
        raise NotCovered(f"the qualified name {node.sql(dialect='spark')}")
    if name in scope.bound:
        return scope.bound[name]
    found = name if name in scope.schema else next((one for one in scope.schema if one.lower() == name.lower()), None)
    if found is None or scope.groups:
        unsupported = scope.schema.unsupported.get(name) if isinstance(scope.schema, typed.PartialSchema) else None
        why = "outside an aggregate" if found else "that does not exist"
        raise NotCovered(unsupported or f"the column {name!r} {why}")
    return TypedExpression(scope.schema[found], lambda row: row[found])


def _literal(node: Any, scope: EvaluationScope) -> TypedExpression:
    kind = literal_type(node)
    read = {"string": str, "double": float, "decimal": Decimal}.get(kind.name, int)
    return typed.constant(read(node.this), kind)


def _interval(node: Any, scope: EvaluationScope) -> TypedExpression:
    """A number of months, or a duration."""
    unit = (node.args.get("unit") or exp.Var(this="")).name.lower().rstrip("s")
    amount = node.this.name if isinstance(node.this, exp.Literal) else ""
    lengths = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
    if not re.fullmatch(r"-?\d+", amount.strip()) or unit not in ("year", "month", *lengths):
        raise NotCovered(f"{node.sql(dialect='spark')}")
    if unit in lengths:
        return typed.constant(timedelta(**{f"{unit}s": int(amount)}), c.INTERVAL)
    return typed.constant(int(amount) * (12 if unit == "year" else 1), c.MONTHS)


def _cast(node: Any, scope: EvaluationScope) -> TypedExpression:
    text = node.args["to"].sql(dialect="spark")
    try:
        kind = SparkType.parse(text)
    except ValueError as error:
        raise NotCovered(f"the type {text}") from error
    cast = typed.to(build(node.this, scope), kind, scope.zone)
    return typed.attempted(cast) if node.args.get("safe") else cast


def _sides(node: Any, scope: EvaluationScope) -> list[TypedExpression]:
    return _each([node.this, node.expression], scope)


def _operator(symbol: Operator, node: Any, scope: EvaluationScope) -> TypedExpression:
    left, right = _sides(node, scope)
    return binary(symbol, left, right, scope.zone)


def _comparison(test: Callable[[Any, Any], bool], node: Any, scope: EvaluationScope) -> TypedExpression:
    """Null if either side is null."""
    _, sides = typed.unify(_sides(node, scope), scope.zone)
    return typed.lift(c.BOOLEAN, sides, lambda a, b: test(typed.order_key(a), typed.order_key(b)))


def _null_safe(node: Any, scope: EvaluationScope) -> TypedExpression:
    left, right = _sides(node, scope)
    return typed.null_safe_equal(left, right, scope.zone)


def _condition(node: exp.Expr, scope: EvaluationScope) -> TypedExpression:
    return typed.to(build(node, scope), c.BOOLEAN, scope.zone)


def _logic(decisive: bool, node: Any, scope: EvaluationScope) -> TypedExpression:
    """Compiles AND (decided by one false) or OR (decided by one true)."""
    left, right = _condition(node.this, scope).run, _condition(node.expression, scope).run

    def run(row: Any) -> Any:
        one = left(row)
        if one is decisive:
            return decisive
        other = right(row)
        return decisive if other is decisive else None if one is None or other is None else not decisive

    return TypedExpression(c.BOOLEAN, run)


def _in(node: Any, scope: EvaluationScope) -> TypedExpression:
    if not node.expressions:
        raise NotCovered("IN with a query")
    _, (item, *others) = typed.unify([build(node.this, scope), *_each(node.expressions, scope)], scope.zone)

    def run(row: Any) -> bool | None:
        value = item.run(row)
        if value is None:
            return None
        members = [other.run(row) for other in others]
        if any(typed.same(member, value) for member in members):
            return True
        return None if None in members else False

    return TypedExpression(c.BOOLEAN, run)


def _between(node: Any, scope: EvaluationScope) -> TypedExpression:
    if node.args.get("symmetric"):
        raise NotCovered("BETWEEN SYMMETRIC")
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return build(exp.And(this=low, expression=high), scope)


def _like(node: Any, scope: EvaluationScope, fold: bool = False, escape: str = "\\") -> TypedExpression:
    negate = bool(node.args.get("negate"))
    if isinstance(node.expression, exp.Any | exp.All):  # one of the patterns, or all of them
        if negate:
            raise NotCovered("NOT LIKE ANY or ALL")
        joined = exp.Or if isinstance(node.expression, exp.Any) else exp.And
        patterns = node.expression.this.unnest_operands()
        tests = [type(node)(this=node.this.copy(), expression=each.copy()) for each in patterns]
        return build(reduce(lambda one, other: joined(this=one, expression=other), tests), scope)
    item = typed.to(build(node.this, scope), c.STRING, scope.zone)
    pattern = typed.to(build(node.expression, scope), c.STRING, scope.zone)
    return typed.lift(c.BOOLEAN, [item, pattern], lambda text, wanted: like(text, wanted, escape, fold) is not negate)


def _case(node: Any, scope: EvaluationScope) -> TypedExpression:
    ifs, default = node.args["ifs"], node.args.get("default")
    if node.this is not None:
        tests = [exp.EQ(this=node.this.copy(), expression=each.this.copy()) for each in ifs]
    else:
        tests = [each.this for each in ifs]
    results = [*(each.args["true"] for each in ifs), default or exp.Null()]
    return typed.choose([_condition(test, scope).run for test in tests], _each(results, scope), scope)


def _bracket(node: Any, scope: EvaluationScope) -> TypedExpression:
    item, place = node.this, node.expressions[0]
    if place.is_string and (struct := build(item, scope)).kind.fields:
        return functions.field_of(struct, place.name)
    return functions.subscript(_each([item, place], scope), scope)


def _function(node: Any, scope: EvaluationScope) -> TypedExpression:
    name = str(node.this).lower()
    arguments = node.expressions
    if scope.groups and name in groups.AGGREGATES:
        return groups.aggregate(name, arguments, scope, build)
    if name in BY_SYNTAX:
        return BY_SYNTAX[name](arguments, scope, build)
    if name in functions.WITH_UNIT and len(arguments) == 3 and isinstance(arguments[0], exp.Column):
        arguments = [exp.Literal.string(arguments[0].name), *arguments[1:]]
    if (definition := functions.expanded(name, arguments)) is not None:
        return build(definition, scope)
    if name not in FUNCTIONS:
        raise NotCovered(f"the function {name}")
    if any(isinstance(argument, exp.Distinct | exp.Star) for argument in arguments):
        raise NotCovered(f"{node.sql(dialect='spark')}")
    return FUNCTIONS[name](_each(arguments, scope), scope)


def _named(name: str, keys: str, node: Any, scope: EvaluationScope) -> TypedExpression:
    """A function with its own syntax; `keys` names its arguments in the tree."""
    arguments = [node.args[key] for key in keys.split() if node.args.get(key) is not None]
    return FUNCTIONS[name](_each(arguments, scope), scope)


def _trim(node: Any, scope: EvaluationScope) -> TypedExpression:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.args.get("position") or "").upper(), "trim")
    arguments = [node.expression, node.this] if node.args.get("expression") else [node.this]
    return FUNCTIONS[name](_each(arguments, scope), scope)


def _group_only(node: Any, scope: EvaluationScope) -> TypedExpression:
    if not scope.groups:
        raise NotCovered(f"{node.sql(dialect='spark')} outside an aggregate")
    return groups.modified(node, scope, build)


def _negative(node: Any, scope: EvaluationScope) -> TypedExpression:
    item = build(node.this, scope)
    if isinstance(node.this, exp.Literal) and not node.this.is_string and item.kind.name == "bigint":
        value = -int(node.this.this)
        return typed.constant(value, c.INT if value == -(1 << 31) else c.BIGINT)
    return negated(item, scope.zone)


def _bits(combine: Callable[[int, int], int], node: Any, scope: EvaluationScope) -> TypedExpression:
    kind, sides = typed.unify(_sides(node, scope), scope.zone)
    if not kind.is_integer:
        raise NotCovered(f"{node.sql(dialect='spark')}")
    return typed.lift(kind, sides, lambda a, b: in_range(combine(a, b), kind))


_NODES: dict[type, Callable[[Any, EvaluationScope], TypedExpression]] = {
    exp.Column: _column,
    exp.Identifier: _column,
    exp.Literal: _literal,
    exp.Interval: _interval,
    exp.RawString: lambda node, scope: typed.constant(node.this, c.STRING),
    exp.Null: lambda node, scope: typed.constant(None, c.NULL),
    exp.Boolean: lambda node, scope: typed.constant(bool(node.this), c.BOOLEAN),
    exp.Paren: lambda node, scope: build(node.this, scope),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Neg: _negative,
    **{kind: partial(_operator, symbol) for kind, symbol in OPERATORS.items()},
    exp.BitwiseAnd: partial(_bits, operator.and_),
    exp.BitwiseOr: partial(_bits, operator.or_),
    exp.BitwiseXor: partial(_bits, operator.xor),
    exp.EQ: partial(_comparison, operator.eq),
    exp.NEQ: partial(_comparison, operator.ne),
    exp.LT: partial(_comparison, operator.lt),
    exp.LTE: partial(_comparison, operator.le),
    exp.GT: partial(_comparison, operator.gt),
    exp.GTE: partial(_comparison, operator.ge),
    exp.NullSafeEQ: _null_safe,
    exp.NullSafeNEQ: lambda node, scope: typed.lift(c.BOOLEAN, [_null_safe(node, scope)], operator.not_),
    exp.And: partial(_logic, False),
    exp.Or: partial(_logic, True),
    exp.Not: lambda node, scope: typed.lift(c.BOOLEAN, [_condition(node.this, scope)], operator.not_),
    exp.Is: _null_safe,  # with null, true or false
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: lambda node, scope: _like(node, scope, fold=True),
    exp.Escape: lambda node, scope: _like(node.this, scope, isinstance(node.this, exp.ILike), node.expression.name),
    exp.RegexpLike: partial(_named, "rlike", "this expression"),
    exp.DPipe: partial(_named, "concat", "this expression"),
    exp.Case: _case,
    exp.If: lambda node, scope: _case(exp.Case(ifs=[node.copy()], default=node.args.get("false")), scope),
    exp.Bracket: _bracket,
    exp.Dot: lambda node, scope: functions.field_of(build(node.this, scope), node.expression.name),
    exp.Anonymous: _function,
    exp.Trim: _trim,
    exp.Transform: lambda node, scope: BY_SYNTAX["transform"]([node.this, node.expression], scope, build),
    exp.Substring: partial(_named, "substring", "this start length"),
    exp.Any: lambda node, scope: groups.aggregate("any", [node.this.unnest()], scope, build),
    exp.StrPosition: partial(_named, "instr", "this substr"),
    exp.Extract: lambda node, scope: FUNCTIONS["date_part"](
        [typed.constant(node.this.name, c.STRING), build(node.expression, scope)], scope
    ),
    exp.Filter: _group_only,
    exp.WithinGroup: _group_only,
    exp.GroupConcat: _group_only,
    exp.IgnoreNulls: _group_only,
    exp.RespectNulls: _group_only,
}
