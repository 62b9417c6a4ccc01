"""What an expression says that is legal and cannot have been meant, such as a comparison with null."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlglot import exp

from palmette.errors import nearest
from palmette.features.spec.expressions import Fault, function_name

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_PATTERN_FUNCTIONS = (
    "regexp",
    "regexp_like",
    "regexp_count",
    "regexp_extract",
    "regexp_extract_all",
    "regexp_instr",
    "regexp_replace",
    "regexp_substr",
    "rlike",
    "split",
)
"""Functions whose second argument is a regular expression."""
_WRONG_IN_JAVA_TOO = ("unterminated", "unbalanced", "nothing to repeat", "missing )")
"""Java knows more than Python does; what both refuse is refused."""

Closed = Mapping[str, tuple[str | int | bool, ...]]
"""The columns that can only have certain values."""


def oversights(tree: exp.Expression, closed: Closed) -> Iterator[Fault]:
    """The mistakes in an expression over columns of which some are `closed`."""
    counted = {id(star) for node in tree.find_all(exp.Anonymous) if _counts(node) for star in node.expressions}
    for node in tree.find_all(exp.Expression, bfs=False):
        if isinstance(node, _COMPARISONS):
            yield from _with_null(node)
        yield from _foreign_values(node, closed)
        if isinstance(node, exp.And | exp.Or):
            yield from _idle(node)
        yield from _patterns(node)
        if isinstance(node, exp.Star) and id(node) not in counted:
            yield Fault("bad-expression", "`*` is no value.", "Name a column; only count(*) takes all rows.", "*")


def _counts(node: exp.Expression) -> bool:
    return function_name(node) == "count"


def pattern_error(pattern: str) -> str | None:
    """Why a text is no regular expression; None where it may be one."""
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error) if any(word in str(error) for word in _WRONG_IN_JAVA_TOO) else None
    return None


def _with_null(node: exp.Expression) -> Iterator[Fault]:
    if isinstance(node.this, exp.Null) or isinstance(node.expression, exp.Null):
        wanted = "is not null" if isinstance(node, exp.NEQ) else "is null"
        text = node.sql("spark")
        yield Fault("null-comparison", f"{text!r} is never true: null equals nothing.", f"Write `{wanted}`.", text)


def _idle(node: exp.And | exp.Or) -> Iterator[Fault]:
    """Two sides that say which value a column has or has not, of which one decides nothing: another one is meant."""
    sides = [_one_value(side.unnest()) for side in (node.this, node.expression)]
    if not sides[0] or not sides[1] or sides[0].column != sides[1].column or sides[0].value == sides[1].value:
        return
    text = node.sql("spark")
    column, values = sides[0].column, ", ".join(side.value for side in sides if side)
    if isinstance(node, exp.And) and sides[0].is_it and sides[1].is_it:
        yield Fault("idle-condition", f"{text!r} is never true.", f"Write `{column} IN ({values})`.", text)
    elif isinstance(node, exp.Or) and not (sides[0].is_it and sides[1].is_it):
        said = "always true" if sides[0].is_it == sides[1].is_it else "the same without its equality"
        yield Fault("idle-condition", f"{text!r} is {said}.", f"Write `{column} NOT IN ({values})`.", text)


class _OneValue(NamedTuple):
    """`column = value`, or that it is not."""

    column: str
    value: str
    is_it: bool


def _one_value(node: exp.Expression) -> _OneValue | None:
    if not isinstance(node, exp.EQ | exp.NEQ):
        return None
    column, value = (node.this, node.expression) if isinstance(node.this, exp.Column) else (node.expression, node.this)
    if not isinstance(column, exp.Column) or not isinstance(value, exp.Literal):
        return None
    return _OneValue(column.name.lower(), value.sql("spark"), isinstance(node, exp.EQ))


def _foreign_values(node: exp.Expression, closed: Closed) -> Iterator[Fault]:
    """Values that a column is compared with, although it cannot have them."""
    if isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
        sides = [node.this, node.expression]
    elif isinstance(node, exp.In):
        sides = [node.this, *node.expressions]
    else:
        return
    column = next((side for side in sides if isinstance(side, exp.Column)), None)
    values = closed.get(column.name) if column is not None else None
    for side in sides:
        if values and isinstance(side, exp.Literal) and side.name not in map(str, values):
            yield Fault(
                "unknown-value",
                f"{side.name!r} is not among the values of {column.name if column else ''!r}.",
                f"Its values are {', '.join(map(str, values))}.",
                side.name,
                nearest(side.name, map(str, values)),
            )


def _patterns(node: exp.Expression) -> Iterator[Fault]:
    if isinstance(node, exp.RegexpLike | exp.RegexpILike):
        pattern = node.expression
    elif function_name(node) in _PATTERN_FUNCTIONS and len(node.expressions) > 1:
        pattern = node.expressions[1]
    else:
        return
    if isinstance(pattern, exp.Literal) and (reason := pattern_error(pattern.name)):
        yield Fault("bad-pattern", f"{pattern.name!r} is not a regular expression: {reason}.", "Mend it.", pattern.name)
