"""Small deviations of an expression: another comparison or connective, a number off by one, a dropped condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from palmette.features.oracle.errors import NotCovered
from palmette.features.oracle.syntax import parse

_COMPARISONS: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.LT: (exp.LTE,),
    exp.LTE: (exp.LT,),
    exp.GT: (exp.GTE,),
    exp.GTE: (exp.GT,),
    exp.EQ: (exp.NEQ,),
    exp.NEQ: (exp.EQ,),
    exp.And: (exp.Or,),
    exp.Or: (exp.And,),
    exp.Add: (exp.Sub,),
    exp.Sub: (exp.Add,),
    exp.Mul: (exp.Add,),
    exp.Div: (exp.Mul,),
}
MOST = 8


class ExpressionChange(NamedTuple):
    what: str
    sql: str


def text_deviations(sql: str) -> list[ExpressionChange]:
    """Returns at most `MOST` deviations of an expression, in text order."""
    try:
        tree = parse(sql)
    except NotCovered:
        return []
    found = []
    for index, node in enumerate(tree.walk()):
        for what, other in _others(node):
            changed = tree.copy()
            place = list(changed.walk())[index]
            replaced = other if place is changed else changed
            if place is not changed:
                place.replace(other)
            text = replaced.sql(dialect="spark")
            if text != sql:
                found.append(ExpressionChange(what, text))
    return found[:MOST]


def _others(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for kind in _COMPARISONS.get(type(node), ()):
        yield (
            f"{type(node).key} became {kind.key}",
            kind(this=node.this.copy(), expression=node.expression.copy()),
        )
    if isinstance(node, exp.And):
        yield "a condition was dropped", node.this.copy()
        yield "a condition was dropped", node.expression.copy()
    if isinstance(node, exp.In) and len(node.expressions) > 1:
        for index, item in enumerate(node.expressions):
            rest = [each.copy() for place, each in enumerate(node.expressions) if place != index]
            yield f"{item.sql(dialect='spark')} is forgotten", exp.In(this=node.this.copy(), expressions=rest)
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        yield f"{node.this} became {int(node.this) + 1}", exp.Literal.number(int(node.this) + 1)
    if isinstance(node, exp.Not):
        yield "a negation was dropped", node.this.copy()
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in ("coalesce", "nullif", "nvl", "ifnull"):
        yield f"{node.this} was dropped", node.expressions[0].copy()
