# ruff: noqa: ARG005 - entries of one table all take the same arguments

"""Spark SQL expressions over Python rows.

`compile_row` and `compile_group` turn text into a `Typed`: its type, and a function of one row or of a group's rows.
Types follow Spark in ANSI mode; `/` and `%` give null on a zero divisor, which is the FSC's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from palmette.features.oracle import coercion as c
from palmette.features.oracle import functions, groups
from palmette.features.oracle.arithmetic import binary, negated
from palmette.features.oracle.casts import cast, in_range
from palmette.features.oracle.errors import NotCovered, WouldFail
from palmette.features.oracle.patterns import like
from palmette.features.oracle.syntax import interval, literal, parse, spark_type_of
from palmette.features.oracle.typed import FUNCTIONS, Held, Scope, Typed, constant, order_key, same, to, unify
from palmette.features.spec.values import SparkType


def compile_row(sql: str, schema: Mapping[str, SparkType], zone: ZoneInfo) -> Typed:
    """A row-wise expression; `run` takes a row."""
    return build(parse(sql), Scope(schema, zone))


def compile_group(sql: str, schema: Mapping[str, SparkType], zone: ZoneInfo) -> Typed:
    """An aggregate expression; `run` takes all rows of a group, perhaps none."""
    return build(parse(sql), Scope(schema, zone, groups=True))


def build(node: exp.Expr, scope: Scope) -> Typed:
    """Compiles a node by its class; `NotCovered` for one that the table does not name."""
    compiler = _NODES.get(type(node))
    if compiler is None:
        raise NotCovered(f"{node.sql(dialect='spark')} ({type(node).__name__})")
    return compiler(node, scope)


def _each(nodes: Sequence[exp.Expr], scope: Scope) -> list[Typed]:
    return [build(node, scope) for node in nodes]


def _column(node: Any, scope: Scope) -> Typed:
    name = node.name
    if node.args.get("table"):
        raise NotCovered(f"the qualified name {node.sql(dialect='spark')}")
    if name in scope.bound:
        return Typed(scope.bound[name], lambda row: row[name])
    found = next((column for column in scope.schema if column == name), None) or next(
        (column for column in scope.schema if column.lower() == name.lower()), None
    )
    if found is None or scope.groups:
        lost = scope.schema.lost.get(name) if isinstance(scope.schema, Held) else None
        why = "outside an aggregate" if found else "that does not exist"
        raise NotCovered(lost or f"the column {name!r} {why}")
    return Typed(scope.schema[found], lambda row: row[found])


def _cast(node: Any, scope: Scope) -> Typed:
    item, target = build(node.this, scope), spark_type_of(node.args["to"])
    if target.name == "timestamp_ltz":
        target = c.TIMESTAMP
    if not node.args.get("safe"):
        return to(item, target, scope.zone)
    source, run = item.kind, item.run

    def attempt(row: Any) -> Any:
        try:
            return cast(run(row), source, target, scope.zone)
        except WouldFail:
            return None

    return Typed(target, attempt)


def _operator(symbol: str) -> Callable[[Any, Scope], Typed]:
    def compiler(node: Any, scope: Scope) -> Typed:
        return binary(symbol, build(node.this, scope), build(node.expression, scope), scope.zone)

    return compiler


def _comparison(test: Callable[[Any, Any], bool]) -> Callable[[Any, Scope], Typed]:
    def compiler(node: Any, scope: Scope) -> Typed:
        return compare(build(node.this, scope), build(node.expression, scope), test, scope)

    return compiler


def compare(left: Typed, right: Typed, test: Callable[[Any, Any], bool], scope: Scope) -> Typed:
    """Null when either side is null."""
    _, (one, other) = unify([left, right], scope.zone)

    def run(row: Any) -> bool | None:
        a, b = one.run(row), other.run(row)
        return None if a is None or b is None else test(order_key(a), order_key(b))

    return Typed(c.BOOLEAN, run)


def _null_safe(equal: bool) -> Callable[[Any, Scope], Typed]:
    def compiler(node: Any, scope: Scope) -> Typed:
        _, (one, other) = unify([build(node.this, scope), build(node.expression, scope)], scope.zone)

        def run(row: Any) -> bool:
            a, b = one.run(row), other.run(row)
            alike = (a is None and b is None) if a is None or b is None else same(a, b)
            return alike is equal

        return Typed(c.BOOLEAN, run)

    return compiler


def _condition(node: exp.Expr, scope: Scope) -> Callable[[Any], Any]:
    return to(build(node, scope), c.BOOLEAN, scope.zone).run


def _and(node: Any, scope: Scope) -> Typed:
    left, right = _condition(node.this, scope), _condition(node.expression, scope)

    def run(row: Any) -> bool | None:
        one = left(row)
        if one is False:
            return False
        other = right(row)
        return False if other is False else None if one is None or other is None else True

    return Typed(c.BOOLEAN, run)


def _or(node: Any, scope: Scope) -> Typed:
    left, right = _condition(node.this, scope), _condition(node.expression, scope)

    def run(row: Any) -> bool | None:
        one = left(row)
        if one is True:
            return True
        other = right(row)
        return True if other is True else None if one is None or other is None else False

    return Typed(c.BOOLEAN, run)


def _not(node: Any, scope: Scope) -> Typed:
    item = _condition(node.this, scope)

    def run(row: Any) -> bool | None:
        value = item(row)
        return None if value is None else not value

    return Typed(c.BOOLEAN, run)


def _is(node: Any, scope: Scope) -> Typed:
    item = build(node.this, scope).run
    wanted = node.expression
    if isinstance(wanted, exp.Null):
        return Typed(c.BOOLEAN, lambda row: item(row) is None)
    if isinstance(wanted, exp.Boolean):
        truth = bool(wanted.this)
        return Typed(c.BOOLEAN, lambda row: item(row) is truth)
    raise NotCovered(f"{node.sql(dialect='spark')}")


def _in(node: Any, scope: Scope) -> Typed:
    if not node.expressions:
        raise NotCovered("IN with a query")
    _, (item, *others) = unify([build(node.this, scope), *_each(node.expressions, scope)], scope.zone)

    def run(row: Any) -> bool | None:
        value = item.run(row)
        if value is None:
            return None
        members = [other.run(row) for other in others]
        if any(member is not None and same(member, value) for member in members):
            return True
        return None if None in members else False

    return Typed(c.BOOLEAN, run)


def _between(node: Any, scope: Scope) -> Typed:
    if node.args.get("symmetric"):
        raise NotCovered("BETWEEN SYMMETRIC")
    return _and(
        exp.And(
            this=exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()),
            expression=exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()),
        ),
        scope,
    )


def _like(node: Any, scope: Scope, fold: bool = False, escape: str = "\\") -> Typed:
    if isinstance(node.expression, exp.Any | exp.All):
        raise NotCovered("LIKE ANY or ALL")
    item = to(build(node.this, scope), c.STRING, scope.zone)
    pattern = to(build(node.expression, scope), c.STRING, scope.zone)
    negate = bool(node.args.get("negate"))

    def run(row: Any) -> bool | None:
        text, wanted = item.run(row), pattern.run(row)
        return None if text is None or wanted is None else like(text, wanted, escape, fold) is not negate

    return Typed(c.BOOLEAN, run)


def _escape(node: Any, scope: Scope) -> Typed:
    return _like(node.this, scope, isinstance(node.this, exp.ILike), node.expression.name)


def choose(conditions: list[Callable[[Any], Any]], results: list[Typed], scope: Scope) -> Typed:
    """The result of the first condition that is true; the last result is the default."""
    kind, items = unify(results, scope.zone)

    def run(row: Any) -> Any:
        for condition, item in zip(conditions, items[:-1], strict=True):
            if condition(row) is True:
                return item.run(row)
        return items[-1].run(row)

    return Typed(kind, run)


def _case(node: Any, scope: Scope) -> Typed:
    ifs, default = node.args["ifs"], node.args.get("default")
    if node.this is not None:
        tests = [exp.EQ(this=node.this.copy(), expression=each.this.copy()) for each in ifs]
    else:
        tests = [each.this for each in ifs]
    results = [*(each.args["true"] for each in ifs), default or exp.Null()]
    return choose([_condition(test, scope) for test in tests], _each(results, scope), scope)


def _if(node: Any, scope: Scope) -> Typed:
    results = [node.args["true"], node.args.get("false") or exp.Null()]
    return choose([_condition(node.this, scope)], _each(results, scope), scope)


def _bracket(node: Any, scope: Scope) -> Typed:
    arguments = _each([node.this, *node.expressions], scope)
    return functions.subscript(arguments, scope)


def _function(node: Any, scope: Scope) -> Typed:
    name = str(node.this).lower()
    arguments = node.expressions
    if scope.groups and name in groups.AGGREGATES:
        return groups.aggregate(name, arguments, scope, build)
    if name in functions.HIGHER_ORDER:
        return functions.HIGHER_ORDER[name](arguments, scope, build)
    if name in functions.WITH_UNIT and len(arguments) == 3 and isinstance(arguments[0], exp.Column):
        arguments = [exp.Literal.string(arguments[0].name), *arguments[1:]]
    if name not in FUNCTIONS:
        raise NotCovered(f"the function {name}")
    if any(isinstance(argument, exp.Distinct | exp.Star) for argument in arguments):
        raise NotCovered(f"{node.sql(dialect='spark')}")
    return FUNCTIONS[name](_each(arguments, scope), scope)


def _named(name: str, *keys: str) -> Callable[[Any, Scope], Typed]:
    def compiler(node: Any, scope: Scope) -> Typed:
        arguments = [node.args[key] for key in keys if node.args.get(key) is not None]
        return FUNCTIONS[name](_each(arguments, scope), scope)

    return compiler


def _trim(node: Any, scope: Scope) -> Typed:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.args.get("position") or "").upper(), "trim")
    arguments = [node.expression, node.this] if node.args.get("expression") else [node.this]
    return FUNCTIONS[name](_each(arguments, scope), scope)


def _extract(node: Any, scope: Scope) -> Typed:
    return FUNCTIONS["date_part"]([constant(node.this.name, c.STRING), build(node.expression, scope)], scope)


def _group_only(node: Any, scope: Scope) -> Typed:
    if not scope.groups:
        raise NotCovered(f"{node.sql(dialect='spark')} outside an aggregate")
    return groups.modified(node, scope, build)


def _negative(node: Any, scope: Scope) -> Typed:
    item = build(node.this, scope)
    if isinstance(node.this, exp.Literal) and not node.this.is_string and item.kind.name == "bigint":
        value = -int(node.this.this)
        return constant(value, c.INT if value == -(1 << 31) else c.BIGINT)
    return negated(item, scope.zone)


def _bits(symbol: Callable[[int, int], int]) -> Callable[[Any, Scope], Typed]:
    def compiler(node: Any, scope: Scope) -> Typed:
        kind, (one, other) = unify([build(node.this, scope), build(node.expression, scope)], scope.zone)
        if not kind.is_integer:
            raise NotCovered(f"{node.sql(dialect='spark')}")

        def run(row: Any) -> int | None:
            a, b = one.run(row), other.run(row)
            return None if a is None or b is None else in_range(symbol(a, b), kind)

        return Typed(kind, run)

    return compiler


_NODES: dict[type, Callable[[Any, Scope], Typed]] = {
    exp.Column: _column,
    exp.Identifier: _column,
    exp.Literal: literal,
    exp.Interval: interval,
    exp.RawString: lambda node, scope: constant(node.this, c.STRING),
    exp.Null: lambda node, scope: constant(None, c.NULL),
    exp.Boolean: lambda node, scope: constant(bool(node.this), c.BOOLEAN),
    exp.Paren: lambda node, scope: build(node.this, scope),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Neg: _negative,
    exp.Add: _operator("+"),
    exp.Sub: _operator("-"),
    exp.Mul: _operator("*"),
    exp.Div: _operator("/"),
    exp.Mod: _operator("%"),
    exp.IntDiv: _operator("div"),
    exp.BitwiseAnd: _bits(lambda a, b: a & b),
    exp.BitwiseOr: _bits(lambda a, b: a | b),
    exp.BitwiseXor: _bits(lambda a, b: a ^ b),
    exp.EQ: _comparison(lambda a, b: bool(a == b)),
    exp.NEQ: _comparison(lambda a, b: bool(a != b)),
    exp.LT: _comparison(lambda a, b: bool(a < b)),
    exp.LTE: _comparison(lambda a, b: bool(a <= b)),
    exp.GT: _comparison(lambda a, b: bool(a > b)),
    exp.GTE: _comparison(lambda a, b: bool(a >= b)),
    exp.NullSafeEQ: _null_safe(True),
    exp.NullSafeNEQ: _null_safe(False),
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: lambda node, scope: _like(node, scope, fold=True),
    exp.Escape: _escape,
    exp.RegexpLike: _named("rlike", "this", "expression"),
    exp.DPipe: _named("concat", "this", "expression"),
    exp.Case: _case,
    exp.If: _if,
    exp.Bracket: _bracket,
    exp.Anonymous: _function,
    exp.Trim: _trim,
    exp.StrPosition: _named("instr", "this", "substr"),
    exp.Extract: _extract,
    exp.Filter: _group_only,
    exp.WithinGroup: _group_only,
    exp.IgnoreNulls: _group_only,
    exp.RespectNulls: _group_only,
}
