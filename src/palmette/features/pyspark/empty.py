"""What a Spark SQL aggregate expression gives over no rows."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from palmette.features.spec.expressions import type_of
from palmette.features.spec.fsc import Expression
from palmette.features.spec.view import Schema, ViewFeature

_NULL_IN_NULL_OUT = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.Neg,
    exp.Cast,
    exp.TryCast,
    exp.Round,
    exp.Paren,
    exp.Abs,
    exp.Sqrt,
    exp.Floor,
    exp.Ceil,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.EQ,
    exp.NEQ,
)
_ZERO = (exp.Count, exp.CountIf, exp.ApproxDistinct)
_EMPTY_ARRAY = (exp.ArrayAgg, exp.ArrayUniqueAgg)
_EMPTY_ARRAY_NAMES = ("collect_list", "collect_set", "array_agg")


def empty_value(sql: str, schema: Schema | None = None) -> str | None:
    """The value over no rows as a Spark SQL expression without columns; None when it is surely null.

    Empty arrays have the type that `schema`, of the rows, gives them.
    """
    tree = exp.Paren(this=sqlglot.parse_one(sql, dialect="spark"))
    for node in reversed(list(tree.find_all(exp.AggFunc, exp.Filter, exp.WithinGroup, exp.Anonymous))):
        value = _of_aggregate(node, schema or {})
        if value is not None and node.parent is not None:
            node.replace(value)
    for column in list(tree.find_all(exp.Column)):
        column.replace(exp.Null())
    folded = _fold(tree.this)
    return None if isinstance(folded, exp.Null) else simplify(folded, dialect="spark").sql(dialect="spark")


def never_null(sql: str) -> bool:
    """Whether it is a bare count, or ends in a constant for null."""
    tree = sqlglot.parse_one(sql, dialect="spark")
    last = tree.expressions[-1].unnest() if isinstance(tree, exp.Coalesce) and tree.expressions else None
    return isinstance(tree, _ZERO) or isinstance(last.this if isinstance(last, exp.Neg) else last, exp.Literal)


def presence_column(feature: ViewFeature) -> str:
    """Name of the column that tells that the group of an SQL aggregate had rows."""
    return f"{feature.name}_has_rows"


def needs_presence(feature: ViewFeature) -> bool:
    """Whether nothing but such a column can tell the value over no rows from a null."""
    computation = feature.computation
    return (
        isinstance(computation, Expression)
        and not never_null(computation.sql)
        and (empty_value(computation.sql) is not None)
    )


def _of_aggregate(node: exp.Expr, schema: Schema) -> exp.Expr | None:
    if isinstance(node, _ZERO):
        return exp.Literal.number(0)
    if isinstance(node, _EMPTY_ARRAY) or (isinstance(node, exp.Anonymous) and node.name.lower() in _EMPTY_ARRAY_NAMES):
        kind = type_of(node.sql(dialect="spark"), schema)
        return exp.cast(exp.Array(), str(kind), dialect="spark") if kind is not None else exp.Array()
    if isinstance(node, exp.Filter | exp.WithinGroup):
        inner: exp.Expr = node.this.copy()
        return inner
    if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.find(exp.Column)):
        return exp.Null()
    return None


def _fold(node: exp.Expr) -> exp.Expr:
    """The expression with operations on null folded to null."""
    for child in list(node.iter_expressions()):
        folded = _fold(child)
        if folded is not child:
            child.replace(folded)
    if isinstance(node, _NULL_IN_NULL_OUT) and any(isinstance(child, exp.Null) for child in node.iter_expressions()):
        return exp.Null()
    if isinstance(node, exp.Coalesce):
        known = [child for child in (node.this, *node.expressions) if not isinstance(child, exp.Null)]
        return (
            exp.Null() if not known else exp.Coalesce(this=known[0], expressions=known[1:]) if known[1:] else known[0]
        )
    if isinstance(node, exp.Div):
        return exp.Anonymous(this="try_divide", expressions=[node.this.copy(), node.expression.copy()])
    if isinstance(node, exp.Mod):
        return exp.Anonymous(this="try_mod", expressions=[node.this.copy(), node.expression.copy()])
    return node
